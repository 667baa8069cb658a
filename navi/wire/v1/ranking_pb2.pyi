import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from navi.wire.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Predicate(_message.Message):
    __slots__ = ("column", "operator", "values")
    class Operator(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        OPERATOR_UNSPECIFIED: _ClassVar[Predicate.Operator]
        IN: _ClassVar[Predicate.Operator]
        NOT_IN: _ClassVar[Predicate.Operator]
        AT_LEAST: _ClassVar[Predicate.Operator]
        AT_MOST: _ClassVar[Predicate.Operator]
    OPERATOR_UNSPECIFIED: Predicate.Operator
    IN: Predicate.Operator
    NOT_IN: Predicate.Operator
    AT_LEAST: Predicate.Operator
    AT_MOST: Predicate.Operator
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    column: str
    operator: Predicate.Operator
    values: _types_pb2.Column
    def __init__(self, column: _Optional[str] = ..., operator: _Optional[_Union[Predicate.Operator, str]] = ..., values: _Optional[_Union[_types_pb2.Column, _Mapping]] = ...) -> None: ...

class Candidates(_message.Message):
    __slots__ = ("ids", "columns")
    IDS_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ids: _types_pb2.Ids
    columns: _containers.RepeatedCompositeFieldContainer[_types_pb2.Column]
    def __init__(self, ids: _Optional[_Union[_types_pb2.Ids, _Mapping]] = ..., columns: _Optional[_Iterable[_Union[_types_pb2.Column, _Mapping]]] = ...) -> None: ...

class RankRequest(_message.Message):
    __slots__ = ("pipeline", "user", "features", "k", "supplied", "exclude", "predicates", "as_of", "seed", "request_id", "explain")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    SUPPLIED_FIELD_NUMBER: _ClassVar[int]
    EXCLUDE_FIELD_NUMBER: _ClassVar[int]
    PREDICATES_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    user: _types_pb2.Key
    features: _containers.RepeatedCompositeFieldContainer[_types_pb2.Column]
    k: int
    supplied: Candidates
    exclude: _types_pb2.Ids
    predicates: _containers.RepeatedCompositeFieldContainer[Predicate]
    as_of: _timestamp_pb2.Timestamp
    seed: int
    request_id: str
    explain: bool
    def __init__(self, pipeline: _Optional[str] = ..., user: _Optional[_Union[_types_pb2.Key, _Mapping]] = ..., features: _Optional[_Iterable[_Union[_types_pb2.Column, _Mapping]]] = ..., k: _Optional[int] = ..., supplied: _Optional[_Union[Candidates, _Mapping]] = ..., exclude: _Optional[_Union[_types_pb2.Ids, _Mapping]] = ..., predicates: _Optional[_Iterable[_Union[Predicate, _Mapping]]] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., seed: _Optional[int] = ..., request_id: _Optional[str] = ..., explain: _Optional[bool] = ...) -> None: ...

class StageReport(_message.Message):
    __slots__ = ("name", "rows_in", "rows_out", "microseconds", "degraded", "dropped", "offset_microseconds")
    class DroppedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    ROWS_IN_FIELD_NUMBER: _ClassVar[int]
    ROWS_OUT_FIELD_NUMBER: _ClassVar[int]
    MICROSECONDS_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    OFFSET_MICROSECONDS_FIELD_NUMBER: _ClassVar[int]
    name: str
    rows_in: int
    rows_out: int
    microseconds: int
    degraded: bool
    dropped: _containers.ScalarMap[str, int]
    offset_microseconds: int
    def __init__(self, name: _Optional[str] = ..., rows_in: _Optional[int] = ..., rows_out: _Optional[int] = ..., microseconds: _Optional[int] = ..., degraded: _Optional[bool] = ..., dropped: _Optional[_Mapping[str, int]] = ..., offset_microseconds: _Optional[int] = ...) -> None: ...

class Degradation(_message.Message):
    __slots__ = ("stage", "reason", "detail", "rows")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    stage: str
    reason: str
    detail: str
    rows: int
    def __init__(self, stage: _Optional[str] = ..., reason: _Optional[str] = ..., detail: _Optional[str] = ..., rows: _Optional[int] = ...) -> None: ...

class Explanation(_message.Message):
    __slots__ = ("ids", "sources", "scores", "drop", "drops", "candidates")
    class Drop(_message.Message):
        __slots__ = ("stage", "reason")
        STAGE_FIELD_NUMBER: _ClassVar[int]
        REASON_FIELD_NUMBER: _ClassVar[int]
        stage: str
        reason: str
        def __init__(self, stage: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...
    IDS_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    DROP_FIELD_NUMBER: _ClassVar[int]
    DROPS_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    ids: _types_pb2.Ids
    sources: bytes
    scores: _containers.RepeatedCompositeFieldContainer[_types_pb2.Column]
    drop: bytes
    drops: _containers.RepeatedCompositeFieldContainer[Explanation.Drop]
    candidates: int
    def __init__(self, ids: _Optional[_Union[_types_pb2.Ids, _Mapping]] = ..., sources: _Optional[bytes] = ..., scores: _Optional[_Iterable[_Union[_types_pb2.Column, _Mapping]]] = ..., drop: _Optional[bytes] = ..., drops: _Optional[_Iterable[_Union[Explanation.Drop, _Mapping]]] = ..., candidates: _Optional[int] = ...) -> None: ...

class RankResponse(_message.Message):
    __slots__ = ("ids", "scores", "tasks", "sources", "source_names", "stages", "models", "degradations", "shortfall", "as_of", "seed", "request_id", "explanation")
    class ModelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class ShortfallEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    IDS_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    SOURCE_NAMES_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    DEGRADATIONS_FIELD_NUMBER: _ClassVar[int]
    SHORTFALL_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    ids: _types_pb2.Ids
    scores: bytes
    tasks: _containers.RepeatedCompositeFieldContainer[_types_pb2.Column]
    sources: bytes
    source_names: _containers.RepeatedScalarFieldContainer[str]
    stages: _containers.RepeatedCompositeFieldContainer[StageReport]
    models: _containers.ScalarMap[str, str]
    degradations: _containers.RepeatedCompositeFieldContainer[Degradation]
    shortfall: _containers.ScalarMap[str, int]
    as_of: _timestamp_pb2.Timestamp
    seed: int
    request_id: str
    explanation: Explanation
    def __init__(self, ids: _Optional[_Union[_types_pb2.Ids, _Mapping]] = ..., scores: _Optional[bytes] = ..., tasks: _Optional[_Iterable[_Union[_types_pb2.Column, _Mapping]]] = ..., sources: _Optional[bytes] = ..., source_names: _Optional[_Iterable[str]] = ..., stages: _Optional[_Iterable[_Union[StageReport, _Mapping]]] = ..., models: _Optional[_Mapping[str, str]] = ..., degradations: _Optional[_Iterable[_Union[Degradation, _Mapping]]] = ..., shortfall: _Optional[_Mapping[str, int]] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., seed: _Optional[int] = ..., request_id: _Optional[str] = ..., explanation: _Optional[_Union[Explanation, _Mapping]] = ...) -> None: ...

class ScoreRequest(_message.Message):
    __slots__ = ("pipeline", "user", "features", "candidates", "as_of", "request_id")
    PIPELINE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    pipeline: str
    user: _types_pb2.Key
    features: _containers.RepeatedCompositeFieldContainer[_types_pb2.Column]
    candidates: Candidates
    as_of: _timestamp_pb2.Timestamp
    request_id: str
    def __init__(self, pipeline: _Optional[str] = ..., user: _Optional[_Union[_types_pb2.Key, _Mapping]] = ..., features: _Optional[_Iterable[_Union[_types_pb2.Column, _Mapping]]] = ..., candidates: _Optional[_Union[Candidates, _Mapping]] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class ScoreResponse(_message.Message):
    __slots__ = ("scores", "tasks", "status", "stages", "models", "degradations", "as_of", "request_id")
    class ModelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SCORES_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    DEGRADATIONS_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    scores: bytes
    tasks: _containers.RepeatedCompositeFieldContainer[_types_pb2.Column]
    status: bytes
    stages: _containers.RepeatedCompositeFieldContainer[StageReport]
    models: _containers.ScalarMap[str, str]
    degradations: _containers.RepeatedCompositeFieldContainer[Degradation]
    as_of: _timestamp_pb2.Timestamp
    request_id: str
    def __init__(self, scores: _Optional[bytes] = ..., tasks: _Optional[_Iterable[_Union[_types_pb2.Column, _Mapping]]] = ..., status: _Optional[bytes] = ..., stages: _Optional[_Iterable[_Union[StageReport, _Mapping]]] = ..., models: _Optional[_Mapping[str, str]] = ..., degradations: _Optional[_Iterable[_Union[Degradation, _Mapping]]] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...
