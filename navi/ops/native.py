"""The one place that loads the compiled kernels; without them nothing runs, rather than slowly."""

try:
    import navi.ops._native as native
except ImportError as error:
    raise ImportError(
        "navi's compiled kernels (navi.ops._native) cannot be loaded: "
        f"{error}. With a C++17 compiler installed, run `pip install .` for an installed package, or in a "
        "checkout: cmake -S kernels -B build/dev && cmake --build build/dev && cmake --install build/dev --prefix ."
    ) from error

__all__ = ["native"]
