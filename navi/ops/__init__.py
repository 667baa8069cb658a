"""The hot loops: C++ with a small Python face and a numpy reference each."""

from navi.ops.gather_dot import gather_dot, gather_dot_top_k
from navi.ops.id_index import IdIndex
from navi.ops.top_k import top_k

__all__ = ["IdIndex", "gather_dot", "gather_dot_top_k", "top_k"]
