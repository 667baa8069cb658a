from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DataType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DATA_TYPE_UNSPECIFIED: _ClassVar[DataType]
    FLOAT32: _ClassVar[DataType]
    INT64: _ClassVar[DataType]
    BOOL: _ClassVar[DataType]
    STRING: _ClassVar[DataType]
DATA_TYPE_UNSPECIFIED: DataType
FLOAT32: DataType
INT64: DataType
BOOL: DataType
STRING: DataType

class Key(_message.Message):
    __slots__ = ("number", "text")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    number: int
    text: str
    def __init__(self, number: _Optional[int] = ..., text: _Optional[str] = ...) -> None: ...

class Ids(_message.Message):
    __slots__ = ("numbers", "text", "text_offsets")
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TEXT_OFFSETS_FIELD_NUMBER: _ClassVar[int]
    numbers: bytes
    text: bytes
    text_offsets: bytes
    def __init__(self, numbers: _Optional[bytes] = ..., text: _Optional[bytes] = ..., text_offsets: _Optional[bytes] = ...) -> None: ...

class Column(_message.Message):
    __slots__ = ("name", "dtype", "data", "width", "row_offsets", "text_offsets", "valid")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    ROW_OFFSETS_FIELD_NUMBER: _ClassVar[int]
    TEXT_OFFSETS_FIELD_NUMBER: _ClassVar[int]
    VALID_FIELD_NUMBER: _ClassVar[int]
    name: str
    dtype: DataType
    data: bytes
    width: int
    row_offsets: bytes
    text_offsets: bytes
    valid: bytes
    def __init__(self, name: _Optional[str] = ..., dtype: _Optional[_Union[DataType, str]] = ..., data: _Optional[bytes] = ..., width: _Optional[int] = ..., row_offsets: _Optional[bytes] = ..., text_offsets: _Optional[bytes] = ..., valid: _Optional[bytes] = ...) -> None: ...
