"""Points in time on the wire."""

import math

from google.protobuf.timestamp_pb2 import Timestamp

from navi.core.errors import InvalidArgument

FIRST, LAST = -62_135_596_800, 253_402_300_799
"""Seconds since the epoch of the years 1 and 9999, the range that Timestamp has."""


def decode_time(message: Timestamp, path: str) -> float:
    """Seconds since the Unix epoch."""
    if not FIRST <= message.seconds <= LAST:
        raise InvalidArgument(path, f"seconds {message.seconds} is outside of the years 1 to 9999")
    if not 0 <= message.nanos < 1_000_000_000:
        raise InvalidArgument(path, f"nanos {message.nanos} is not between 0 and 999999999")
    return message.seconds + message.nanos / 1e9


def encode_time(seconds: float, path: str = "as_of") -> Timestamp:
    """The time to the nanosecond; InvalidArgument outside of the years 1 to 9999."""
    if not FIRST <= seconds <= LAST:
        raise InvalidArgument(path, f"{seconds} is outside of the years 1 to 9999")
    whole = math.floor(seconds)
    nanos = round((seconds - whole) * 1e9)
    return Timestamp(seconds=whole + nanos // 1_000_000_000, nanos=nanos % 1_000_000_000)
