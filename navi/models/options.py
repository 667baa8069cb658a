"""How a model is run: what an operator decides about it."""

from typing import Literal, TypeAlias

from pydantic import Field, model_validator

from navi.features.inputs import Strict

Provider: TypeAlias = Literal["cpu", "cuda", "tensorrt"]


class ModelOptions(Strict):
    """The run-time options of one model in `navi.toml`."""

    format: Literal["onnx", "pt2"] = Field(default="onnx", description="Which of the model's files to run.")
    provider: Provider = Field(default="cpu", description="Where to run it; what is not there is an error.")
    allow_fallback: bool = Field(default=False, description="Run on the CPU, and say so, where `provider` is missing.")
    threads: int = Field(default=1, ge=1, le=1024, description="Threads inside one run, on the CPU.")
    compile: bool = Field(default=False, description="Compile a pt2 model (torch.compile; needs a C++ compiler).")
    trusted: bool = Field(
        default=False,
        description="Allow pt2 archives, which are code, where `digests` names their version; refused otherwise.",
    )
    digests: tuple[str, ...] = Field(
        default=(),
        description="Digests of the versions that may be loaded, as their refusal names them. Empty: any onnx.",
    )
    manifest_required: bool = Field(
        default=True, description="Refuse a version without a manifest.json; one that is there is checked in any case."
    )
    # On a CPU a row's cost falls up to here: 9.5 us alone, 1.18 in 64, 1.06 in 256, 1.13 in 1024 (MLP 64-256-128-1).
    max_rows: int = Field(default=256, ge=1, description="Rows up to which requests share a run; a GPU takes more.")
    linger_us: int = Field(default=0, ge=0, description="Microseconds that a free worker waits for company; 0: none.")
    workers: int = Field(default=1, ge=1, le=64, description="Runs of this model at one time.")

    @model_validator(mode="after")
    def _consistent(self) -> "ModelOptions":
        if self.format == "onnx" and self.compile:
            raise ValueError("compile is for pt2 models; ONNX Runtime optimises by itself")
        if self.format == "pt2" and not self.manifest_required:
            raise ValueError("a pt2 archive is code: it is loaded with its manifest only")
        if self.format == "pt2" and self.provider == "tensorrt":
            raise ValueError("provider tensorrt runs onnx models only")
        return self
