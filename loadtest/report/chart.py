"""What the page needs of a chart: a drawing, and the same in words and numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Chart:
    """One figure. name: its id. note: how to read it. text: what it shows, for those who do not see it. draw: None
    where there is nothing to draw; `text` then says why. height: pixels. edges: seconds, of a chart along the schedule
    whose rows are the windows between them; it takes the page's width.
    """

    name: str
    title: str
    note: str
    text: str
    draw: Callable[[Figure], None] | None
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    height: int = 290
    edges: Sequence[float] = ()

    @property
    def wide(self) -> bool:
        return len(self.edges) > 0
