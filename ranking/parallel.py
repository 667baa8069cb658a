"""Several queries at once, each failing alone."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from navi.core.errors import NaviError
from navi.core.query import Query

T = TypeVar("T")


def answer_each(
    answer: Callable[[Query], T], queries: Sequence[Query], pool: ThreadPoolExecutor
) -> list[T | NaviError]:
    """Answers position for position, an error in the place of a query that has none.

    A single query is answered by the calling thread; several by the pool's, side by side.
    """

    def guarded(query: Query) -> T | NaviError:
        try:
            return answer(query)
        except NaviError as error:
            return error

    if len(queries) == 1:
        return [guarded(queries[0])]
    return list(pool.map(guarded, queries))
