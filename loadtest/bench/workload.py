"""The requests that a benchmark's bundle brings with it, protocol apart."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from navi.core.arrays import Array
from navi.core.errors import InvalidArgument

REQUEST, ITEM, TENSOR = "request.", "item.", "tensor."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workload:
    """Requests for the scores of `rows` candidates, by number 0..sets-1.

    ids: int64 [sets, rows]. user: keys [sets], None where there is no user. request: features [sets] or [sets, width].
    items: features of the candidates, [sets, rows] or [sets, rows, width]. tensors: the served model's inputs for the
    same rows, by `SCOPE.NAME`: [sets, width] of scope `request`, [sets, rows, width] of `item` and `pair`.
    model, inputs: the ONNX file and the rows of the same requests for the bare runtime.
    """

    name: str
    ids: Array
    user: Array | None
    as_of: float
    request: Mapping[str, Array]
    items: Mapping[str, Array]
    tensors: Mapping[str, Array]
    model: Path
    inputs: Path

    @property
    def sets(self) -> int:
        return int(self.ids.shape[0])

    @property
    def rows(self) -> int:
        return int(self.ids.shape[1])


def read_workload(bundle: Path, name: str, rows: int) -> Workload:
    """What `navi bench bundle` left in `bench/`; InvalidArgument where the bundle has none of this name and size."""
    path = bundle / "bench" / f"{name}-{rows}.request.npz"
    try:
        with np.load(path) as file:
            arrays = {key: file[key] for key in file.files}
    except (OSError, ValueError) as error:
        raise InvalidArgument("rows", f"{bundle} has no requests for {rows} candidates: {error}") from error
    tensors = _of(arrays, TENSOR)
    if not tensors:
        raise InvalidArgument("bundle", f"{bundle} was made before tensors were sent: remove it, and it is made anew")
    return Workload(
        name=name,
        ids=arrays["ids"],
        user=arrays.get("user"),
        as_of=float(arrays["as_of"][0]),
        request=_of(arrays, REQUEST),
        items=_of(arrays, ITEM),
        tensors=tensors,
        model=bundle / "bench" / f"{name}.onnx",
        inputs=bundle / "bench" / f"{name}-{rows}.inputs.npz",
    )


def _of(arrays: Mapping[str, Array], origin: str) -> dict[str, Array]:
    return {name.removeprefix(origin): values for name, values in arrays.items() if name.startswith(origin)}
