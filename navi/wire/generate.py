"""Regenerates the committed message code from `protos/` (`python -m navi.wire.generate`, needs grpcio-tools)."""

import sys
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory

from grpc_tools import protoc  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[2]

PRIVATE = ("navi/wire/kserve", "navi/wire/tfserving")
"""Folders of protocols that are not ours: their messages live in the private pool, as others register those names."""

MODULE = '''"""Messages of {proto}, in the private pool. Made by navi.wire.generate; do not edit."""

from navi.wire.private_pool import load

globals().update(load({descriptors!r}))
'''


def generate(out: Path, root: Path = ROOT) -> list[Path]:
    """Write the code of every file under `root`/protos below `out`; the paths written, relative to `out`.

    Raises RuntimeError where protoc refuses a file (it prints why).
    """
    protos = root / "protos"
    sources = [source.relative_to(protos) for source in sorted(protos.rglob("*.proto"))]
    with as_file(files("grpc_tools") / "_proto") as well_known:
        paths = [f"-I{protos}", f"-I{well_known}"]
        private = [source for source in sources if source.parent.as_posix() in PRIVATE]
        ours = [source for source in sources if source not in private]
        _protoc([*paths, f"--python_out={out}"], ours)
        _protoc([*paths, f"--pyi_out={out}", f"--grpc_python_out={out}"], sources)
        for source in private:
            _write_private(source, out, paths)
    stems = [str(source.with_suffix("")) for source in sources]
    return [Path(stem + ending) for stem in stems for ending in ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py")]


def _write_private(source: Path, out: Path, paths: Sequence[str]) -> None:
    """The module of messages that stands where protoc's own would: the same names, from the private pool."""
    with TemporaryDirectory() as folder:
        descriptors = Path(folder) / "descriptors"
        _protoc([*paths, "--include_imports", f"--descriptor_set_out={descriptors}"], [source])
        text = MODULE.format(proto=source.as_posix(), descriptors=descriptors.read_bytes())
    (out / source).with_name(source.stem + "_pb2.py").write_text(text, encoding="utf-8")


def _protoc(options: Sequence[str], sources: Sequence[Path]) -> None:
    status = protoc.main(["protoc", *options, *map(str, sources)])
    if status != 0:
        raise RuntimeError(f"protoc failed with status {status}")


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
