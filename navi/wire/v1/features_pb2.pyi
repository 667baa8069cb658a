from navi.wire.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WriteMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MERGE: _ClassVar[WriteMode]
    REPLACE: _ClassVar[WriteMode]
    APPEND: _ClassVar[WriteMode]
MERGE: WriteMode
REPLACE: WriteMode
APPEND: WriteMode

class UpsertRequest(_message.Message):
    __slots__ = ("store", "keys", "columns", "mode")
    STORE_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    store: str
    keys: _types_pb2.Ids
    columns: _containers.RepeatedCompositeFieldContainer[_types_pb2.Column]
    mode: WriteMode
    def __init__(self, store: _Optional[str] = ..., keys: _Optional[_Union[_types_pb2.Ids, _Mapping]] = ..., columns: _Optional[_Iterable[_Union[_types_pb2.Column, _Mapping]]] = ..., mode: _Optional[_Union[WriteMode, str]] = ...) -> None: ...

class UpsertResponse(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: int
    def __init__(self, rows: _Optional[int] = ...) -> None: ...

class GetRequest(_message.Message):
    __slots__ = ("store", "keys", "names")
    STORE_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    store: str
    keys: _types_pb2.Ids
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, store: _Optional[str] = ..., keys: _Optional[_Union[_types_pb2.Ids, _Mapping]] = ..., names: _Optional[_Iterable[str]] = ...) -> None: ...

class GetResponse(_message.Message):
    __slots__ = ("found", "columns")
    FOUND_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    found: bytes
    columns: _containers.RepeatedCompositeFieldContainer[_types_pb2.Column]
    def __init__(self, found: _Optional[bytes] = ..., columns: _Optional[_Iterable[_Union[_types_pb2.Column, _Mapping]]] = ...) -> None: ...

class DeleteRequest(_message.Message):
    __slots__ = ("store", "keys")
    STORE_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    store: str
    keys: _types_pb2.Ids
    def __init__(self, store: _Optional[str] = ..., keys: _Optional[_Union[_types_pb2.Ids, _Mapping]] = ...) -> None: ...

class DeleteResponse(_message.Message):
    __slots__ = ("deleted",)
    DELETED_FIELD_NUMBER: _ClassVar[int]
    deleted: int
    def __init__(self, deleted: _Optional[int] = ...) -> None: ...
