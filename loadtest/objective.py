"""What a service promises: a percentile of its latency, and how many calls may go without an answer."""

import re
from dataclasses import dataclass

from loadtest.result import Result
from navi.core.errors import InvalidArgument

_WORDS = re.compile(r"(p50|p90|p95|p99|p99\.9)=([0-9.]+)(us|ms|s)")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True, slots=True)
class Objective:
    """percentile: a name of `Percentiles`, met where it is at most `seconds`, from due times. failures: the share of
    calls that may be shed, late or wrong."""

    percentile: str
    seconds: float
    failures: float = 0.01

    def missed(self, result: Result) -> str:
        """Why a run misses it; empty where it meets it."""
        if not result.complete:
            return result.warnings[0] if result.warnings else "the run did not end"
        lost = result.outcomes["shed"] + result.outcomes["deadline"] + result.outcomes["error"]
        if result.calls in (0, lost):
            return "no call was answered"
        if lost > self.failures * result.calls:
            return f"{lost / result.calls:.1%} of the calls were not answered"
        found = result.latency[self.percentile]
        if found > self.seconds:
            return f"{self.percentile} was {found * 1e3:.1f} ms"
        return ""

    def __str__(self) -> str:
        return f"{self.percentile} <= {self.seconds * 1e3:g} ms, at most {self.failures:.1%} not answered"


def objective(words: str, failures: float) -> Objective:
    """From words like `p99=50ms`; InvalidArgument where they are no objective."""
    match = _WORDS.fullmatch(words.strip())
    try:
        seconds = float(match[2]) * _UNITS[match[3]] if match else 0.0
    except ValueError:
        seconds = 0.0
    if not match or seconds <= 0:
        raise InvalidArgument("find-max", f"is {words!r}, where an objective such as p99=50ms is expected")
    if not 0 <= failures < 1:
        raise InvalidArgument("max-failures", f"is {failures}, where a share from 0 to below 1 is expected")
    return Objective(match[1], seconds, failures)
