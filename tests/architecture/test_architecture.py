"""The rooms know each other one way only, and every third-party package has its owners."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Lowest first: a room imports itself and what stands before it.
ROOMS = [
    "navi.core",
    "navi.ops",
    "navi.features",
    "navi.models",
    "navi.batching",
    "navi.bundle",
    "navi.wire",
    "navi.server",
    "navi.client",
    "navi.bench",
    "navi.cli",
    "candidates",
    "ranking",
]
# Rooms that may see less than what stands before them.
NARROW = {
    "navi.wire": {"navi.core"},
    "navi.client": {"navi.core", "navi.wire"},
    "loadtest": {"navi.core", "navi.wire", "navi.client", "navi.bench"},
}
NOT_FOR_APPLICATIONS = {"navi.server", "navi.bench", "navi.cli"}

OWNERS = {
    "torch": ["navi/models/torch", "ranking/training/"],
    "onnxruntime": ["navi/models/onnx", "navi/bench/"],
    "onnx": ["navi/models/", "ranking/training/"],
    "onnxscript": ["navi/models/", "ranking/training/"],
    "lmdb": ["navi/features/"],
    "redis": ["navi/features/"],
    "grpc": ["navi/server/", "navi/client/", "navi/wire/", "loadtest/"],
    "grpc_health": ["navi/server/", "navi/client/", "loadtest/"],
    "grpc_reflection": ["navi/server/"],
    "grpc_tools": ["navi/wire/"],
    "faiss": ["candidates/vector_index"],
    "uvloop": ["navi/server/", "loadtest/"],
    "jinja2": ["navi/server/page/"],
    "markupsafe": ["navi/server/page/"],
    "matplotlib": ["loadtest/report/"],
    "opentelemetry": ["navi/server/tracing"],
    "prometheus_client": ["navi/server/"],
    "typer": ["navi/cli/", "navi/bench/commands", "ranking/commands/", "loadtest/"],
}


def sources() -> list[Path]:
    files = [path for top in ("navi", "candidates", "ranking", "loadtest") for path in (ROOT / top).rglob("*.py")]
    return [path for path in files if "_pb2" not in path.name]


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room_of(name: str) -> str | None:
    parts = name.split(".")
    if parts[0] == "navi":
        return ".".join(parts[:2]) if len(parts) > 1 else None
    return parts[0] if parts[0] in ("candidates", "ranking", "loadtest") else None


def module_of(path: Path) -> str:
    relative = path.relative_to(ROOT).with_suffix("")
    parts = relative.parts[:-1] if relative.name == "__init__" else relative.parts
    return ".".join(parts)


def may_see(room: str) -> set[str]:
    if room in NARROW:
        return NARROW[room] | {room}
    below = set(ROOMS[: ROOMS.index(room) + 1])
    return below - NOT_FOR_APPLICATIONS if room in ("candidates",) else below


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_arrow_runs_back(path: Path) -> None:
    room = room_of(module_of(path))
    if room is None:
        return
    seen = {found for name in imports_of(path) if (found := room_of(name)) in {*ROOMS, "loadtest"}}
    assert seen <= may_see(room), f"{path} of {room} imports {sorted(seen - may_see(room))}"


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_third_party_package_is_used_by_its_owners_only(path: Path) -> None:
    relative = path.relative_to(ROOT).as_posix()
    for name in imports_of(path):
        owners = OWNERS.get(name.partition(".")[0])
        assert owners is None or any(relative.startswith(owner) for owner in owners), f"{relative} imports {name}"


def test_modules_import_each_other_without_a_cycle() -> None:
    modules = {module_of(path): path for path in sources()}
    edges = {
        name: {target for found in imports_of(path) if (target := _module(found, modules))}
        for name, path in modules.items()
    }
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, f"cycle: {' -> '.join((*trail[trail.index(name) :], name))}"
        if name in done:
            return
        for target in edges[name] - {name}:
            visit(target, (*trail, name))
        done.add(name)

    for name in modules:
        visit(name, ())


def _module(imported: str, modules: dict[str, Path]) -> str | None:
    if imported in modules:
        return imported
    if imported.endswith("._native"):  # the extension module, which imports nothing
        return None
    parent = imported.rpartition(".")[0]
    return parent if parent in modules else None


def test_kernels_hold_no_python() -> None:
    assert not list((ROOT / "kernels").rglob("*.py"))
