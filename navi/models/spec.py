"""`model.toml`: what a model is called, takes and gives."""

import tomllib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, TypeAlias

import tomli_w
from pydantic import AfterValidator, Field, ValidationError, model_validator

from navi.core.errors import ModelError
from navi.features.inputs import InputSpec, Strict

SPEC_FILE = "model.toml"


def _inside(path: str) -> str:
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or not parts.parts:
        raise ValueError(f"{path!r} must be a path inside the model's directory")
    return path


InsidePath: TypeAlias = Annotated[str, AfterValidator(_inside)]


class OutputSpec(Strict):
    """One output tensor and what its columns mean.

    `vector`: [rows, width], an embedding. Otherwise one column a task, [rows] or [rows, len(tasks)].
    """

    name: str
    kind: Literal["logit", "probability", "score", "vector"]
    tasks: tuple[str, ...] = ()
    sampling: Mapping[str, float] = Field(
        default_factory=dict,
        description="By task: r, the share of negatives kept in training; probabilities are corrected for it.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> "OutputSpec":
        if (self.kind == "vector") != (not self.tasks):
            raise ValueError(f"output {self.name!r}: every kind but `vector` names its tasks, and `vector` has none")
        unknown = set(self.sampling) - set(self.tasks)
        if unknown or any(not 0 < rate <= 1 for rate in self.sampling.values()):
            raise ValueError(f"output {self.name!r}: sampling holds rates in (0, 1] for tasks of this output")
        if self.sampling and self.kind not in ("logit", "probability"):
            raise ValueError(f"output {self.name!r}: only probabilities are corrected for sampling, not a {self.kind}")
        return self


class ModelSpec(Strict):
    """The whole of a `model.toml`."""

    name: str
    version: int = Field(ge=1)
    files: Mapping[Literal["onnx", "pt2"], InsidePath] = Field(
        min_length=1, description="The same model by format; every path is inside the version's directory."
    )
    inputs: tuple[InputSpec, ...] = Field(min_length=1)
    outputs: tuple[OutputSpec, ...] = Field(min_length=1)
    vocabularies: Mapping[str, InsidePath] = Field(default_factory=dict, description="Vocabulary -> its Arrow file.")

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(task for output in self.outputs for task in output.tasks)

    @model_validator(mode="after")
    def _consistent(self) -> "ModelSpec":
        names = [spec.name for spec in self.inputs] + [spec.name for spec in self.outputs]
        if len(set(names)) != len(names):
            raise ValueError("two inputs or outputs have one name")
        if len(set(self.tasks)) != len(self.tasks):
            raise ValueError("two outputs name the same task")
        for spec in self.inputs:
            for transform in spec.features:
                vocabulary = getattr(transform, "vocabulary", None)
                if vocabulary is not None and vocabulary not in self.vocabularies:
                    raise ValueError(f"{spec.name}.{transform.name}: vocabulary {vocabulary!r} is not listed")
        return self


def load_spec(directory: Path) -> ModelSpec:
    """The checked `model.toml` of a version's directory; ModelError naming the file and the field that is wrong."""
    path = directory / SPEC_FILE
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ModelError(f"{path} cannot be read: {error}") from error
    try:
        return ModelSpec.model_validate(raw)
    except ValidationError as error:
        found = [f"{'.'.join(map(str, each['loc'])) or 'model'}: {each['msg']}" for each in error.errors()]
        raise ModelError(f"{path}: {'; '.join(found)}") from error


def dump_spec(spec: ModelSpec, directory: Path) -> None:
    """Write `spec` as the `model.toml` of `directory`, so that `load_spec` gives it back."""
    text = tomli_w.dumps(spec.model_dump(mode="json", exclude_none=True))
    (directory / SPEC_FILE).write_text(text, encoding="utf-8")
