"""PyTorch models, from archives that `torch.export.save` wrote."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.export.passes import move_to_device_pass

from navi.core.arrays import Array
from navi.core.errors import BackendError, ModelError
from navi.models.backend import Signature, TensorSpec
from navi.models.torch_archive import check_archive
from navi.models.zeros import zeros

# What a wrong batch raises: guards of the exported program assert, operators and torch.compile raise RuntimeErrors.
_ERRORS = (AssertionError, IndexError, RuntimeError, TypeError, ValueError)


class TorchBackend:
    """One exported program in inference mode. `run` keeps no state between calls."""

    def __init__(self, program: Any, signature: Signature, device: torch.device) -> None:
        self.signature = signature
        self.provider = str(device)
        self._program = program
        self._device = device

    @classmethod
    def load(
        cls,
        path: Path,
        outputs: Sequence[str] = (),
        *,
        device: str = "cpu",
        compile: bool = False,  # noqa: A002  (torch's own word)
        threads: int = 1,
    ) -> "TorchBackend":
        """Open an archive, which is code: the caller has to trust it.

        outputs: names for what the program returns, in its order; its own names where there are none. device: `cpu`,
        `cuda`, `cuda:N`. threads: for the whole process, as Torch has it.
        Raises ModelError where the archive is damaged or holds anything but tensors, takes or gives anything but single
        tensors, or where the device is not here.
        """
        check_archive(path)
        if not has_device(device):
            raise ModelError(f"{path}: device {device!r} is not here (torch {torch.__version__})")
        torch.set_num_threads(threads)
        try:
            exported = torch.export.load(path)
        except (*_ERRORS, OSError, KeyError) as error:
            raise ModelError(f"{path}: torch cannot load it: {error}") from error
        signature = _signature(path, exported, outputs)
        place = torch.device("cpu")
        if device != "cpu":
            place = torch.device("cuda", torch.device(device).index or 0)
            exported = move_to_device_pass(exported, place)
        program = exported.module()
        return cls(torch.compile(program, dynamic=True) if compile else program, signature, place)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        try:
            with torch.inference_mode():
                given = [self._tensor(inputs[spec.name]) for spec in self.signature.inputs]
                returned = self._program(*given)
                values = [returned] if isinstance(returned, torch.Tensor) else returned
                # Copies: a program may return an argument or a weight, or a view of one.
                arrays = [value.cpu().numpy().copy() for value in values]
        except KeyError as error:
            raise BackendError(f"input {error} is missing") from error
        except _ERRORS as error:
            raise BackendError(f"torch: {error}", by_values=isinstance(error, IndexError)) from error
        return {spec.name: array for spec, array in zip(self.signature.outputs, arrays, strict=True)}

    def warm(self, rows: Sequence[int]) -> None:
        for n in rows:
            self.run(zeros(self.signature.inputs, n))

    def close(self) -> None:
        """Memory goes with the last reference."""

    def _tensor(self, values: Array) -> torch.Tensor:
        # Torch warns of memory that it must not write, as views of a mapped file are.
        writable = values if values.flags.writeable else values.copy()
        return torch.from_numpy(writable).to(self._device)


def has_device(device: str) -> bool:
    """Whether this machine and this build of torch have `cpu`, `cuda` or `cuda:N`."""
    place = torch.device(device)
    if place.type == "cuda":
        return torch.cuda.is_available() and (place.index or 0) < torch.cuda.device_count()
    return place.type == "cpu"


def _signature(path: Path, exported: torch.export.ExportedProgram, outputs: Sequence[str]) -> Signature:
    nodes = {node.name: node for node in exported.graph.nodes}
    returned = exported.graph_signature.user_outputs
    names = list(outputs) or [str(name) for name in returned]
    if len(names) != len(returned):
        listed = ", ".join(names)
        raise ModelError(f"{path}: returns {len(returned)} values, where model.toml has {len(names)}: {listed}")
    _check_flat(path, exported)
    return Signature(
        tuple(_spec(path, nodes, ("input", str(name), name)) for name in exported.graph_signature.user_inputs),
        tuple(_spec(path, nodes, ("output", name, node)) for name, node in zip(names, returned, strict=True)),
    )


def _check_flat(path: Path, exported: torch.export.ExportedProgram) -> None:
    """Arguments are tensors by position, and what is returned is one tensor or a tuple of them."""
    arguments, keywords = exported.call_spec.in_spec.children()
    if keywords.num_leaves or any(not child.is_leaf() for child in arguments.children()):
        raise ModelError(f"{path}: takes nested or keyword arguments; export it with one positional tensor an input")
    out = exported.call_spec.out_spec
    if not out.is_leaf() and (out.type not in (tuple, list) or any(not child.is_leaf() for child in out.children())):
        raise ModelError(f"{path}: returns a {out.type.__name__} or nested values, where tensors are needed")


def _spec(path: Path, nodes: Mapping[str, torch.fx.Node], what: tuple[str, str, object]) -> TensorSpec:
    kind, name, node = what
    value = nodes[node].meta.get("val") if isinstance(node, str) and node in nodes else node
    if not isinstance(value, torch.Tensor):
        raise ModelError(f"{path}: {kind} {name!r} is {value!r}, where a tensor is needed")
    shape = tuple(size if isinstance(size, int) else None for size in value.shape)
    leading = str(value.shape[0]) if shape and shape[0] is None else ""
    return TensorSpec(name, _dtype(path, kind, name, value.dtype), shape, leading)


def _dtype(path: Path, kind: str, name: str, dtype: torch.dtype) -> np.dtype:
    try:
        return np.dtype(str(dtype).removeprefix("torch."))
    except TypeError as error:
        raise ModelError(f"{path}: {kind} {name!r} is {dtype}, which numpy has not: cast it in the model") from error
