"""Descriptors for reflection: those of our private pool first, then those that everyone registers."""

from collections.abc import Callable
from typing import TypeVar

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor

from navi.wire.private_pool import POOL

T = TypeVar("T")


class ReflectionPool:
    """As much of a `DescriptorPool` as grpcio-reflection asks; KeyError for what neither pool knows."""

    def __init__(self) -> None:
        self._pools = (POOL, descriptor_pool.Default())

    def FindFileByName(self, name: str) -> FileDescriptor:  # noqa: N802
        return self._first(lambda pool: pool.FindFileByName(name))

    def FindFileContainingSymbol(self, symbol: str) -> FileDescriptor:  # noqa: N802
        return self._first(lambda pool: pool.FindFileContainingSymbol(symbol))

    def FindMessageTypeByName(self, name: str) -> Descriptor:  # noqa: N802
        return self._first(lambda pool: pool.FindMessageTypeByName(name))

    def FindExtensionByNumber(self, extended: Descriptor, number: int) -> FieldDescriptor:  # noqa: N802
        return extended.file.pool.FindExtensionByNumber(extended, number)

    def FindAllExtensions(self, extended: Descriptor) -> list[FieldDescriptor]:  # noqa: N802
        return list(extended.file.pool.FindAllExtensions(extended))

    def _first(self, find: Callable[[descriptor_pool.DescriptorPool], T]) -> T:
        private, shared = self._pools
        try:
            return find(private)
        except KeyError:
            return find(shared)
