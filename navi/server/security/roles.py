"""Which role a caller needs for which method: the one table."""

from typing import Literal, TypeAlias

Role: TypeAlias = Literal["call", "features", "admin", "observe"]
"""call: rank, score, run models. features: read and write feature stores. admin: models, reflection. observe: metrics
and the status page."""

Needed: TypeAlias = Role | Literal[""]

OPEN: Literal[""] = ""
"""In place of a role: anyone may, for probes have no token."""

_RANKING = "/navi.v1.RankingService"
_FEATURES = "/navi.v1.FeatureService"
_ADMIN = "/navi.v1.AdminService"
_KSERVE = "/inference.GRPCInferenceService"
_PREDICTION = "/tensorflow.serving.PredictionService"
_MODELS = "/tensorflow.serving.ModelService"

ROLES: dict[str, Needed] = {
    f"{_RANKING}/Rank": "call",
    f"{_RANKING}/Score": "call",
    f"{_FEATURES}/Upsert": "features",
    f"{_FEATURES}/Get": "features",
    f"{_FEATURES}/Delete": "features",
    f"{_ADMIN}/List": "admin",
    f"{_ADMIN}/Load": "admin",
    f"{_ADMIN}/Unload": "admin",
    f"{_ADMIN}/SetLabel": "admin",
    f"{_ADMIN}/SetSplit": "admin",
    f"{_ADMIN}/SetShadow": "admin",
    f"{_ADMIN}/Rollback": "admin",
    f"{_KSERVE}/ServerLive": "call",
    f"{_KSERVE}/ServerReady": "call",
    f"{_KSERVE}/ServerMetadata": "call",
    f"{_KSERVE}/ModelReady": "call",
    f"{_KSERVE}/ModelMetadata": "call",
    f"{_KSERVE}/ModelConfig": "call",
    f"{_KSERVE}/ModelStatistics": "call",
    f"{_KSERVE}/ModelInfer": "call",
    f"{_KSERVE}/ModelStreamInfer": "call",
    f"{_KSERVE}/RepositoryIndex": "call",
    f"{_KSERVE}/RepositoryModelLoad": "admin",
    f"{_KSERVE}/RepositoryModelUnload": "admin",
    f"{_PREDICTION}/Predict": "call",
    f"{_PREDICTION}/GetModelMetadata": "call",
    f"{_MODELS}/GetModelStatus": "call",
    "/grpc.health.v1.Health/Check": OPEN,
    "/grpc.health.v1.Health/Watch": OPEN,
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": "admin",
}
"""By path, `/package.Service/Method`."""


def role_of(path: str) -> Needed:
    """What a method needs; `admin` for one that the table does not know."""
    return ROLES.get(path, "admin")
