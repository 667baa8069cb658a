"""`model.toml`: what a model is called, takes and gives."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from navi.features.inputs import InputSpec, Strict


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
        return self


class ModelSpec(Strict):
    """The whole of a `model.toml`."""

    name: str
    version: int = Field(ge=1)
    files: Mapping[Literal["onnx", "pt2"], str] = Field(
        min_length=1, description="The same model by format; every path is inside the version's directory."
    )
    inputs: tuple[InputSpec, ...] = Field(min_length=1)
    outputs: tuple[OutputSpec, ...] = Field(min_length=1)
    vocabularies: Mapping[str, str] = Field(default_factory=dict, description="Vocabulary -> its Arrow file.")

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
