"""CPU that a server's processes have used, as Linux tells it."""

import os
from collections import defaultdict
from pathlib import Path

from navi.core.errors import InvalidArgument

_PROC = Path("/proc")


def server_cpu(pid: int) -> float:
    """CPU seconds of a process and all below it, those of ended children included; InvalidArgument where it is gone."""
    times, children = _processes()
    if pid not in times:
        raise InvalidArgument("server_pid", f"no process {pid} is running here")
    total, waiting = 0, [pid]
    while waiting:
        one = waiting.pop()
        total += times.get(one, 0)
        waiting += children[one]
    return total / os.sysconf("SC_CLK_TCK")


def _processes() -> tuple[dict[int, int], dict[int, list[int]]]:
    """(clock ticks, children), by process id."""
    times: dict[int, int] = {}
    children: dict[int, list[int]] = defaultdict(list)
    for path in _PROC.glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        pid = int(path.parent.name)
        children[int(fields[1])].append(pid)
        times[pid] = sum(map(int, fields[11:15]))  # utime, stime, and both of children that were waited for
    return times, children
