"""`AdminService` on the wire: models and their versions."""

from typing import Any

from navi.core.model_state import ModelInfo, ShadowInfo, VersionInfo
from navi.wire.v1 import admin_pb2


def encode_model(model: ModelInfo) -> admin_pb2.Model:
    shadow = None if model.shadow is None else admin_pb2.ShadowReport(**_fields(model.shadow))
    return admin_pb2.Model(
        name=model.name,
        follows=model.follows,
        pinned=model.pinned,
        versions=[admin_pb2.ModelVersion(**_fields(version)) for version in model.versions],
        shadow=shadow,
    )


def decode_model(message: admin_pb2.Model) -> ModelInfo:
    return ModelInfo(
        name=message.name,
        follows=message.follows,
        pinned=message.pinned,
        versions=tuple(_version(version) for version in message.versions),
        shadow=_shadow(message.shadow) if message.HasField("shadow") else None,
    )


def _fields(info: VersionInfo | ShadowInfo) -> dict[str, Any]:
    """Messages and classes name their fields alike."""
    return {name: getattr(info, name) for name in info.__slots__}


def _version(message: admin_pb2.ModelVersion) -> VersionInfo:
    return VersionInfo(
        version=message.version,
        status=message.status,
        labels=tuple(message.labels),
        digest=message.digest,
        reason=message.reason,
        share=message.share,
        in_flight=message.in_flight,
    )


def _shadow(message: admin_pb2.ShadowReport) -> ShadowInfo:
    return ShadowInfo(**{name: getattr(message, name) for name in ShadowInfo.__slots__})
