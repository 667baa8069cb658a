"""How a model's inputs are made of raw features: the declarations that `model.toml` holds."""

from itertools import pairwise
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

Scope: TypeAlias = Literal["request", "item", "pair"]
Finite: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]


class Strict(BaseModel):
    """Configuration: unknown keys are errors, values cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _Transform(Strict):
    name: str = Field(description="Name of the column or columns that this makes, for messages and drift reports.")


class Numeric(_Transform):
    """(x - mean) / std after an optional log1p; float32. Takes float32, int64 and bool.

    A missing value becomes `fill`, before log1p and normalisation.
    """

    transform: Literal["numeric"] = "numeric"
    feature: str
    width: int = Field(default=1, ge=1)
    log1p: bool = False
    mean: Finite = 0.0
    std: Finite = Field(default=1.0, gt=0)
    fill: Finite = 0.0

    @model_validator(mode="after")
    def _consistent(self) -> "Numeric":
        if self.log1p and self.fill <= -1:
            raise ValueError(f"{self.name}: fill {self.fill} has no log1p")
        return self


class Present(_Transform):
    """1 where the feature has a value (an empty list is one), 0 where it is missing; float32."""

    transform: Literal["present"] = "present"
    feature: str


class Category(_Transform):
    """The value's position in a vocabulary plus 1; 0 where unknown or missing; int64."""

    transform: Literal["category"] = "category"
    feature: str
    vocabulary: str


class Bucket(_Transform):
    """Which of len(boundaries) + 1 half-open ranges holds the value, counted from 1; 0 where missing; int64.

    Values equal to a boundary belong to the range above it (numpy.digitize, right=False), compared as float64.
    """

    transform: Literal["bucket"] = "bucket"
    feature: str
    boundaries: tuple[Finite, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _consistent(self) -> "Bucket":
        if any(low >= high for low, high in pairwise(self.boundaries)):
            raise ValueError(f"{self.name}: boundaries must rise")
        return self


class History(_Transform):
    """The last `length` values of a list feature as `Category` codes, oldest first, zeros behind; int64 [length]."""

    transform: Literal["history"] = "history"
    feature: str
    vocabulary: str
    length: int = Field(ge=1, le=1024)


class Age(_Transform):
    """log1p of the days from the feature (int64 seconds since the epoch) to `as_of`; float32.

    0 where the time is missing or later than `as_of`. Of request or pair scope, since `as_of` is the request's.
    """

    transform: Literal["age"] = "age"
    feature: str


class Match(_Transform):
    """Share of a list's values (int64 or string) that equal the candidate's value; 0 for an empty list; float32.

    With `weights` (a float32 list beside the list): the sum of the weights of equal values instead, added in the list's
    order. 0 where the list, its weights or the candidate's value are missing. Pair scope: `values` and `weights` are of
    the user or request, `equals` of the item or pair.
    """

    transform: Literal["match"] = "match"
    values: str
    equals: str
    weights: str | None = None


class Gap(_Transform):
    """|request's number - candidate's number| / scale; `fill` itself where either is missing; float32. Pair scope."""

    transform: Literal["gap"] = "gap"
    request: str
    item: str
    scale: Finite = Field(default=1.0, gt=0)
    fill: Finite = 0.0


Transform: TypeAlias = Annotated[
    Numeric | Present | Category | Bucket | History | Age | Match | Gap, Field(discriminator="transform")
]
"""Features are named by origin: `user.NAME` (feature store), `request.NAME`, `item.NAME` (item table),
`pair.NAME` (a column supplied with the candidates). Arithmetic is done in float64 and rounded to float32 once, at the
end. A list is a ragged feature or one of fixed width; other transforms take one value a row."""


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
            for feature, scope in _origins(transform, self.scope):
                _check_origin(transform.name, feature, scope)
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


def _origins(transform: Transform, scope: Scope) -> list[tuple[str, str]]:
    """Features of a transform, each with the part of `_ORIGINS` that it must come from."""
    if isinstance(transform, Age) and scope == "item":
        raise ValueError(f"{transform.name}: age depends on the request's time, so it cannot be of item scope")
    if not isinstance(transform, Match | Gap):
        return [(feature, scope) for feature in transform_features(transform)]
    if scope != "pair":
        raise ValueError(f"{transform.name}: {transform.transform} compares request and candidate: pair scope only")
    if isinstance(transform, Gap):
        return [(transform.request, "request"), (transform.item, "candidate")]
    weights = [(transform.weights, "request")] if transform.weights else []
    return [(transform.values, "request"), (transform.equals, "candidate"), *weights]


_ORIGINS = {
    "request": ("user", "request"),
    "item": ("item",),
    "candidate": ("item", "pair"),
    "pair": ("user", "request", "item", "pair"),
}


def _check_origin(transform: str, feature: str, scope: str) -> None:
    origin, _, name = feature.partition(".")
    if origin not in _ORIGINS[scope] or not name:
        allowed = ", ".join(f"{known}.*" for known in _ORIGINS[scope])
        raise ValueError(f"{transform}: {feature!r} cannot stand here (only {allowed})")
