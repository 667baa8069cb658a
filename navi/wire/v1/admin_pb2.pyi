from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ModelVersion(_message.Message):
    __slots__ = ("version", "status", "labels", "digest", "reason", "share", "in_flight")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    IN_FLIGHT_FIELD_NUMBER: _ClassVar[int]
    version: int
    status: str
    labels: _containers.RepeatedScalarFieldContainer[str]
    digest: str
    reason: str
    share: float
    in_flight: int
    def __init__(self, version: _Optional[int] = ..., status: _Optional[str] = ..., labels: _Optional[_Iterable[str]] = ..., digest: _Optional[str] = ..., reason: _Optional[str] = ..., share: _Optional[float] = ..., in_flight: _Optional[int] = ...) -> None: ...

class ShadowReport(_message.Message):
    __slots__ = ("version", "share", "compared", "failed", "mean_difference", "largest_difference", "rank_correlation")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    COMPARED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    MEAN_DIFFERENCE_FIELD_NUMBER: _ClassVar[int]
    LARGEST_DIFFERENCE_FIELD_NUMBER: _ClassVar[int]
    RANK_CORRELATION_FIELD_NUMBER: _ClassVar[int]
    version: int
    share: float
    compared: int
    failed: int
    mean_difference: float
    largest_difference: float
    rank_correlation: float
    def __init__(self, version: _Optional[int] = ..., share: _Optional[float] = ..., compared: _Optional[int] = ..., failed: _Optional[int] = ..., mean_difference: _Optional[float] = ..., largest_difference: _Optional[float] = ..., rank_correlation: _Optional[float] = ...) -> None: ...

class Model(_message.Message):
    __slots__ = ("name", "follows", "pinned", "versions", "shadow")
    NAME_FIELD_NUMBER: _ClassVar[int]
    FOLLOWS_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    SHADOW_FIELD_NUMBER: _ClassVar[int]
    name: str
    follows: bool
    pinned: bool
    versions: _containers.RepeatedCompositeFieldContainer[ModelVersion]
    shadow: ShadowReport
    def __init__(self, name: _Optional[str] = ..., follows: _Optional[bool] = ..., pinned: _Optional[bool] = ..., versions: _Optional[_Iterable[_Union[ModelVersion, _Mapping]]] = ..., shadow: _Optional[_Union[ShadowReport, _Mapping]] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ("model",)
    MODEL_FIELD_NUMBER: _ClassVar[int]
    model: str
    def __init__(self, model: _Optional[str] = ...) -> None: ...

class ListResponse(_message.Message):
    __slots__ = ("models", "mode")
    MODELS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    models: _containers.RepeatedCompositeFieldContainer[Model]
    mode: str
    def __init__(self, models: _Optional[_Iterable[_Union[Model, _Mapping]]] = ..., mode: _Optional[str] = ...) -> None: ...

class ModelResponse(_message.Message):
    __slots__ = ("model",)
    MODEL_FIELD_NUMBER: _ClassVar[int]
    model: Model
    def __init__(self, model: _Optional[_Union[Model, _Mapping]] = ...) -> None: ...

class LoadRequest(_message.Message):
    __slots__ = ("model", "version", "aside")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ASIDE_FIELD_NUMBER: _ClassVar[int]
    model: str
    version: int
    aside: bool
    def __init__(self, model: _Optional[str] = ..., version: _Optional[int] = ..., aside: _Optional[bool] = ...) -> None: ...

class UnloadRequest(_message.Message):
    __slots__ = ("model", "version")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    model: str
    version: int
    def __init__(self, model: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class SetLabelRequest(_message.Message):
    __slots__ = ("model", "label", "version")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    model: str
    label: str
    version: int
    def __init__(self, model: _Optional[str] = ..., label: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class SetSplitRequest(_message.Message):
    __slots__ = ("model", "shares")
    class SharesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    MODEL_FIELD_NUMBER: _ClassVar[int]
    SHARES_FIELD_NUMBER: _ClassVar[int]
    model: str
    shares: _containers.ScalarMap[str, float]
    def __init__(self, model: _Optional[str] = ..., shares: _Optional[_Mapping[str, float]] = ...) -> None: ...

class SetShadowRequest(_message.Message):
    __slots__ = ("model", "version", "share")
    MODEL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    model: str
    version: int
    share: float
    def __init__(self, model: _Optional[str] = ..., version: _Optional[int] = ..., share: _Optional[float] = ...) -> None: ...

class RollbackRequest(_message.Message):
    __slots__ = ("model",)
    MODEL_FIELD_NUMBER: _ClassVar[int]
    model: str
    def __init__(self, model: _Optional[str] = ...) -> None: ...
