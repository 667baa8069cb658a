"""Approximate search by inner product: an inverted file over the items' vectors, mapped from disk."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from pydantic import ValidationError

from navi.core.arrays import F32, I64
from navi.core.errors import BundleError
from navi.core.files import replacing, sha256_of
from navi.features.inputs import Strict
from navi.features.item_vectors import ItemVectors
from navi.ops import gather_dot_top_k

_POINTS_PER_CENTRE = 39  # with fewer the centres are poor, and faiss warns


class IndexInfo(Strict):
    """What the file beside an index, `PATH.json`, says of it.

    rows, dims: of the vectors. table_digest, model_digest: theirs. lists: parts of the inverted file; probes: parts
    that a search reads. recall: share of the exact best `depth` that a search finds, mean over the sample of queries.
    """

    rows: int
    dims: int
    table_digest: str
    model_digest: str
    sha256: str
    lists: int
    probes: int
    recall: float
    depth: int


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """An opened index. Safe to search from many threads."""

    info: IndexInfo
    _index: Any

    @classmethod
    def open(cls, path: Path, vectors: ItemVectors) -> "VectorIndex":
        """Map an index of `vectors`; BundleError where a file is missing or damaged, or it is of other vectors."""
        try:
            info = IndexInfo.model_validate_json(_info_path(path).read_bytes())
            digest = sha256_of(path)
        except (OSError, ValidationError) as error:
            raise BundleError(f"{path}: the index, or the .json beside it, cannot be read: {error}") from error
        if (info.table_digest, info.model_digest) != (vectors.table_digest, vectors.model_digest):
            raise BundleError(f"{path}: was made from the vectors of another table or model; build it again")
        if digest != info.sha256 or (info.rows, info.dims) != vectors.matrix.shape:
            raise BundleError(f"{path}: is not the index that {_info_path(path).name} describes; build it again")
        # The plain IO_FLAG_MMAP starts prefetching threads for every search; this one maps and no more.
        return cls(info, faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC))

    def search(self, query: F32, k: int) -> I64:
        """Rows int64 [m], m <= k, of large inner product with `query` (float32 [D]), in no order to rely on."""
        return _search(self._index, query, k, self.info.probes)


def build_index(vectors: ItemVectors, queries: F32, path: Path, *, recall: float = 0.95, depth: int = 500) -> IndexInfo:
    """Write an index of `vectors` to `path`, and what it is to `PATH.json`; both are replaced by rename.

    queries: float32 [m, D], a few hundred vectors of users, as they will be searched for: a search reads as many parts
    of the file as it takes for these to find `recall` of their exact best `depth` in the mean. Same vectors and
    queries, same index. BundleError where there are no vectors or no queries.
    """
    rows, dims = vectors.matrix.shape
    if not rows or not len(queries):
        raise BundleError(f"{path}: an index needs vectors and sample queries")
    index = _trained(vectors.matrix)
    depth = min(depth, rows)
    probes, found = _tuned(index, vectors.matrix, queries, depth=depth, recall=recall)
    with replacing(path) as temporary:
        faiss.write_index(index, str(temporary))
    info = IndexInfo(
        rows=rows,
        dims=dims,
        table_digest=vectors.table_digest,
        model_digest=vectors.model_digest,
        sha256=sha256_of(path),
        lists=index.nlist,
        probes=probes,
        recall=found,
        depth=depth,
    )
    with replacing(_info_path(path)) as temporary:
        temporary.write_text(info.model_dump_json(indent=2))
    return info


def _trained(matrix: F32) -> Any:
    rows, dims = matrix.shape
    lists = max(1, min(int(4 * rows**0.5), rows // _POINTS_PER_CENTRE))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(dims), dims, lists, faiss.METRIC_INNER_PRODUCT)
    index.cp.max_points_per_centroid = 100
    index.train(matrix)
    index.add(matrix)
    return index


def _tuned(index: Any, matrix: F32, queries: F32, *, depth: int, recall: float) -> tuple[int, float]:
    """(probes, the recall they give): the first step of the ladder that reaches `recall`, at the latest all lists."""
    exact = [gather_dot_top_k(matrix, None, query, depth)[0] for query in queries]
    probes, found = 0, 0.0
    for probes in _ladder(index.nlist):
        shares = [
            np.isin(best, _search(index, query, depth, probes)).mean()
            for query, best in zip(queries, exact, strict=True)
        ]
        found = float(np.mean(shares))
        if found >= recall:
            break
    return probes, found


def _ladder(lists: int) -> Iterator[int]:
    """1, 2, 3, 4, 6, 8, 12, ... and `lists` last."""
    probes = 1
    while probes < lists:
        yield probes
        if probes > 1 and probes * 3 // 2 < lists:
            yield probes * 3 // 2
        probes *= 2
    yield lists


def _search(index: Any, query: F32, k: int, probes: int) -> I64:
    parameters = faiss.SearchParametersIVF(nprobe=probes)  # type: ignore[call-arg]
    _, rows = index.search(query[None, :], k, params=parameters)
    found: I64 = rows[0]
    return found[found >= 0]  # short of k rows in the lists read, it fills up with -1


def _info_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")
