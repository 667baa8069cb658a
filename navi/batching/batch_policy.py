"""How calls are put together into runs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BatchPolicy:
    """max_rows: calls share a run up to this many rows; a larger call runs alone, whole.

    linger_s: seconds that a free worker waits for company, from the arrival of the first call; 0: it never waits.
    workers: runs at one time. shared: whether calls may share a run at all.
    """

    max_rows: int
    linger_s: float = 0.0
    workers: int = 1
    shared: bool = True
