"""Conditions on items on the wire."""

from collections.abc import Iterable

from navi.core.column import Column
from navi.core.errors import InvalidArgument
from navi.core.query import Operator, Predicate
from navi.wire.column_codec import decode_column, encode_column
from navi.wire.v1 import ranking_pb2

_OPERATORS: dict[Operator, ranking_pb2.Predicate.Operator] = {
    "in": ranking_pb2.Predicate.IN,
    "not_in": ranking_pb2.Predicate.NOT_IN,
    "at_least": ranking_pb2.Predicate.AT_LEAST,
    "at_most": ranking_pb2.Predicate.AT_MOST,
}
_NAMES: dict[int, Operator] = {number: name for name, number in _OPERATORS.items()}


def decode_predicates(messages: Iterable[ranking_pb2.Predicate], path: str = "predicates") -> tuple[Predicate, ...]:
    return tuple(decode_predicate(message, f"{path}[{position}]") for position, message in enumerate(messages))


def decode_predicate(message: ranking_pb2.Predicate, path: str) -> Predicate:
    operator = _NAMES.get(message.operator)
    if operator is None:
        raise InvalidArgument(f"{path}.operator", f"{message.operator} is none of {', '.join(_OPERATORS)}")
    if not message.column:
        raise InvalidArgument(f"{path}.column", "is empty")
    values = decode_column(message.values, f"{path}.values")
    _check_values(values, operator, f"{path}.values")
    return Predicate(column=message.column, operator=operator, values=values)


def encode_predicate(predicate: Predicate) -> ranking_pb2.Predicate:
    """InvalidArgument for an operator that there is not."""
    operator = _OPERATORS.get(predicate.operator)
    if operator is None:
        raise InvalidArgument("predicates", f"{predicate.operator!r} is none of {', '.join(_OPERATORS)}")
    values = encode_column("", predicate.values)
    return ranking_pb2.Predicate(column=predicate.column, operator=operator, values=values)


def _check_values(values: Column, operator: Operator, path: str) -> None:
    if values.ragged or values.width != 1:
        raise InvalidArgument(path, "must have one value a row")
    if values.valid is not None and not values.valid.all():
        raise InvalidArgument(path, "has missing values")
    if operator not in ("at_least", "at_most"):
        return
    if values.dtype not in ("float32", "int64"):
        raise InvalidArgument(path, f"is {values.dtype}, where a bound is a number")
    if len(values) != 1:
        raise InvalidArgument(path, f"has {len(values)} values, where a bound is one")
