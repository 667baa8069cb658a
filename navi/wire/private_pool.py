"""Messages whose names others register too, in a descriptor pool of our own: one process may hold both."""

from collections.abc import Iterator
from typing import Any

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

POOL = DescriptorPool()
"""Holds the generated code of `navi.wire.kserve` and `navi.wire.tfserving`; written when those are imported."""


def load(descriptors: bytes) -> dict[str, Any]:
    """What a module of generated code defines, by name: message classes, enums, their values, DESCRIPTOR.

    descriptors: a serialised FileDescriptorSet: the files that the last one imports, then that one.
    """
    files = descriptor_pb2.FileDescriptorSet.FromString(descriptors).file
    for file in files:
        POOL.AddSerializedFile(file.SerializeToString(deterministic=True))
    return dict(_definitions(POOL.FindFileByName(files[-1].name)))


def _definitions(file: FileDescriptor) -> Iterator[tuple[str, Any]]:
    yield "DESCRIPTOR", file
    for name, message in file.message_types_by_name.items():
        yield name, _class(message)
    for name, enum in file.enum_types_by_name.items():
        yield name, EnumTypeWrapper(enum)
        yield from ((value.name, value.number) for value in enum.values)


def _class(descriptor: Descriptor) -> type[Message]:
    """The message's class, with those that are nested in it; protobuf's Python implementation does not add them."""
    message = GetMessageClass(descriptor)
    for nested in descriptor.nested_types:
        setattr(message, nested.name, _class(nested))
    return message
