"""How a model's inputs are made of raw features: the declarations that `model.toml` holds."""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

Scope: TypeAlias = Literal["request", "item", "pair"]


class Strict(BaseModel):
    """Configuration: unknown keys are errors, values cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _Transform(Strict):
    name: str = Field(description="Name of the column or columns that this makes, for messages and drift reports.")


class Numeric(_Transform):
    """(x - mean) / std after an optional log1p; float32. A missing value becomes `fill`, before the normalisation."""

    transform: Literal["numeric"] = "numeric"
    feature: str
    width: int = Field(default=1, ge=1)
    log1p: bool = False
    mean: float = 0.0
    std: float = Field(default=1.0, gt=0)
    fill: float = 0.0


class Present(_Transform):
    """1 where the feature has a value, 0 where it is missing; float32."""

    transform: Literal["present"] = "present"
    feature: str


class Category(_Transform):
    """The value's position in a vocabulary plus 1; 0 where unknown or missing; int64."""

    transform: Literal["category"] = "category"
    feature: str
    vocabulary: str


class Bucket(_Transform):
    """Which of len(boundaries) + 1 half-open ranges holds the value, counted from 1; 0 where missing; int64.

    Values equal to a boundary belong to the range above it (numpy.digitize, right=False).
    """

    transform: Literal["bucket"] = "bucket"
    feature: str
    boundaries: tuple[float, ...] = Field(min_length=1)


class History(_Transform):
    """The last `length` values of a ragged feature as `Category` codes, oldest first, zeros behind; int64 [length]."""

    transform: Literal["history"] = "history"
    feature: str
    vocabulary: str
    length: int = Field(ge=1, le=1024)


class Age(_Transform):
    """log1p of the days from the feature (seconds since the epoch) to `as_of`; float32.

    0 where the time is missing or later than `as_of`. Of request or pair scope, since `as_of` is the request's.
    """

    transform: Literal["age"] = "age"
    feature: str


class Match(_Transform):
    """Share of a ragged request feature's values that equal the candidate's value; 0 for an empty list; float32.

    With `weights` (a ragged float feature beside the list): the sum of the weights of equal values instead.
    Pair scope.
    """

    transform: Literal["match"] = "match"
    values: str
    equals: str
    weights: str | None = None


class Gap(_Transform):
    """|request's number - candidate's number| / scale; `fill` where either is missing; float32. Pair scope."""

    transform: Literal["gap"] = "gap"
    request: str
    item: str
    scale: float = Field(default=1.0, gt=0)
    fill: float = 0.0


Transform: TypeAlias = Annotated[
    Numeric | Present | Category | Bucket | History | Age | Match | Gap, Field(discriminator="transform")
]
"""Features are named by origin: `user.NAME` (feature store), `request.NAME`, `item.NAME` (item table),
`pair.NAME` (a column supplied with the candidates)."""


class InputSpec(Strict):
    """One input of a model: [rows, width], made by its `features` side by side."""

    name: str
    scope: Scope
    dtype: Literal["float32", "int64"]
    features: tuple[Transform, ...] = Field(min_length=1)

    @property
    def width(self) -> int:
        return sum(transform_width(transform) for transform in self.features)

    @model_validator(mode="after")
    def _consistent(self) -> "InputSpec":
        for transform in self.features:
            made = "int64" if isinstance(transform, Category | Bucket | History) else "float32"
            if made != self.dtype:
                raise ValueError(f"{transform.name}: {transform.transform} makes {made}, but the input is {self.dtype}")
            for feature in transform_features(transform):
                _check_origin(self, transform.name, feature)
        return self


def transform_width(transform: Transform) -> int:
    """Columns that a transform makes."""
    if isinstance(transform, Numeric):
        return transform.width
    return transform.length if isinstance(transform, History) else 1


def transform_features(transform: Transform) -> tuple[str, ...]:
    """Names of the raw features that a transform reads."""
    if isinstance(transform, Match):
        return tuple(name for name in (transform.values, transform.equals, transform.weights) if name)
    if isinstance(transform, Gap):
        return (transform.request, transform.item)
    return (transform.feature,)


_ORIGINS: dict[Scope, tuple[str, ...]] = {
    "request": ("user", "request"),
    "item": ("item",),
    "pair": ("user", "request", "item", "pair"),
}


def _check_origin(spec: InputSpec, transform: str, feature: str) -> None:
    origin = feature.partition(".")[0]
    if origin not in _ORIGINS[spec.scope] or "." not in feature:
        allowed = ", ".join(f"{name}.*" for name in _ORIGINS[spec.scope])
        raise ValueError(f"{transform}: {feature!r} cannot feed an input of {spec.scope} scope (only {allowed})")
