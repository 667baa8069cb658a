"""Batchers that are closed at the end of a test."""

from collections.abc import Callable, Iterator, Mapping

import pytest
from batching_fakes import Held, Start

from navi.batching.batch_policy import BatchPolicy
from navi.batching.batcher import Batcher
from navi.core.arrays import Array


@pytest.fixture
def held() -> Iterator[Held]:
    held = Held()
    yield held
    held.go.set()


@pytest.fixture
def start() -> Iterator[Start]:
    """Makes batchers, and closes them at the end."""
    made: list[Batcher] = []

    def make(run: Callable[[Mapping[str, Array]], Mapping[str, Array]], **policy: object) -> Batcher:
        batcher = Batcher(run, BatchPolicy(**{"max_rows": 100, **policy})).start()
        made.append(batcher)
        return batcher

    yield make
    for batcher in made:
        batcher.close()
