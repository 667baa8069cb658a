"""Regenerates the committed message code from `protos/` (`python -m navi.wire.generate`, needs grpcio-tools)."""

import sys
from importlib.resources import as_file, files
from pathlib import Path

from grpc_tools import protoc  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[2]


def generate(out: Path, root: Path = ROOT) -> list[Path]:
    """Write the code of every file under `root`/protos below `out`; the paths written, relative to `out`.

    Raises RuntimeError where protoc refuses a file (it prints why).
    """
    protos = root / "protos"
    sources = sorted(protos.rglob("*.proto"))
    with as_file(files("grpc_tools") / "_proto") as well_known:
        outputs = [f"--{kind}_out={out}" for kind in ("python", "pyi", "grpc_python")]
        status = protoc.main(["protoc", f"-I{protos}", f"-I{well_known}", *outputs, *map(str, sources)])
    if status != 0:
        raise RuntimeError(f"protoc failed with status {status}")
    stems = [str(source.relative_to(protos).with_suffix("")) for source in sources]
    return [Path(stem + ending) for stem in stems for ending in ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py")]


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
