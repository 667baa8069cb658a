"""The training loop: seeded, a checkpoint an epoch, so that an interrupted run goes on to the same result."""

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from navi.core.arrays import I64
from ranking.training.progress import Progress


class Objective(Protocol):
    """A model and what it is to learn."""

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> nn.Module: ...

    @property
    def judge(self) -> str | None:
        """The metric whose lowest value marks the epoch that is kept; None: the last one is."""
        ...

    def batches(self, epoch: int, generator: np.random.Generator) -> Sequence[I64]:
        """An epoch's steps, each as positions into the objective's own examples. The model is in evaluation mode."""
        ...

    def loss(self, batch: I64, generator: torch.Generator) -> Tensor:
        """The loss of a step, a scalar with gradients; what is random in it comes from `generator`."""
        ...

    def metrics(self) -> dict[str, float]:
        """How good the model is on the validation slice."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """How an objective is fitted. fingerprint: of everything that the result depends on."""

    seed: int
    epochs: int
    learning_rate: float
    weight_decay: float
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """What came of one pass."""

    loss: float
    seconds: float
    metrics: dict[str, float]


@dataclass(slots=True)
class _State:
    """Epochs done, and the weights of the best of them."""

    done: list[Epoch]
    best: dict[str, Tensor]


def fit(objective: Objective, options: FitOptions, checkpoint: Path, report: Progress) -> list[Epoch]:
    """Train, and leave the model in evaluation mode with the weights of its best epoch (of the last, without a judge).

    Begins after the last epoch in `checkpoint`, if the fingerprint there is the same.
    """
    optimizer = _optimizer(objective.model, options)
    state = _resume(objective.model, optimizer, options, checkpoint)
    for epoch in range(len(state.done), options.epochs):
        state.done.append(_epoch(objective, optimizer, options, epoch, report))
        if epoch == best_epoch(state.done, objective.judge):
            state.best = {name: values.clone() for name, values in objective.model.state_dict().items()}
        _save(objective.model, optimizer, options, state, checkpoint)
        report.note(_line(objective.name, epoch, options.epochs, state.done[-1]))
    objective.model.load_state_dict(state.best)
    objective.model.eval()
    return state.done


def best_epoch(done: Sequence[Epoch], judge: str | None) -> int:
    """The first with the lowest value of the metric `judge`; the last where there is no judge, or no finite value."""
    values = [math.nan if judge is None else epoch.metrics[judge] for epoch in done]
    finite = [value for value in values if math.isfinite(value)]
    return values.index(min(finite)) if finite else len(done) - 1


def seed_of(*parts: int | str) -> int:
    """One 63-bit seed for a thing that is named by several numbers and words."""
    words = [part if isinstance(part, int) else int.from_bytes(part.encode(), "little") for part in parts]
    return int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0] >> 1)


def _epoch(
    objective: Objective, optimizer: torch.optim.Optimizer, options: FitOptions, epoch: int, report: Progress
) -> Epoch:
    started = time.monotonic()
    seed = seed_of(options.seed, objective.name, epoch)
    generator = torch.Generator().manual_seed(seed)
    objective.model.eval()
    batches = objective.batches(epoch, np.random.default_rng(seed))
    report.start(f"{objective.name}, epoch {epoch + 1} of {options.epochs}", len(batches))
    objective.model.train()
    total = torch.zeros(())
    for step, batch in enumerate(batches):
        _set_rate(optimizer, options.learning_rate * schedule((epoch + step / len(batches)) / options.epochs))
        total += _step(objective, optimizer, batch, generator)
        report.advance()
    objective.model.eval()
    with torch.inference_mode():
        metrics = objective.metrics()
    loss = float(total) / max(len(batches), 1)
    return Epoch(loss=loss, seconds=time.monotonic() - started, metrics=metrics)


def _step(objective: Objective, optimizer: torch.optim.Optimizer, batch: I64, generator: torch.Generator) -> Tensor:
    optimizer.zero_grad(set_to_none=True)
    loss = objective.loss(batch, generator)
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return loss.detach()


def schedule(progress: float) -> float:
    """Factor of the learning rate at a share of the run: a linear start over 5 %, then a cosine down to 2 %."""
    if progress < 0.05:
        return max(progress / 0.05, 0.02)
    return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * (progress - 0.05) / 0.95))


def _set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate


def _optimizer(model: nn.Module, options: FitOptions) -> torch.optim.Optimizer:
    """Fused: over the embedding tables it takes a third of the time of the plain one."""
    return torch.optim.AdamW(
        model.parameters(), lr=options.learning_rate, weight_decay=options.weight_decay, fused=True
    )


def _save(model: nn.Module, optimizer: torch.optim.Optimizer, options: FitOptions, state: _State, path: Path) -> None:
    saved: dict[str, Any] = {
        "fingerprint": options.fingerprint,
        "model": model.state_dict(),
        "best": state.best,
        "optimizer": optimizer.state_dict(),
        "epochs": [asdict(epoch) for epoch in state.done],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    torch.save(saved, partial)
    partial.replace(path)


def _resume(model: nn.Module, optimizer: torch.optim.Optimizer, options: FitOptions, path: Path) -> _State:
    """The state after the last epoch, with model and optimizer as they were; the start where no checkpoint fits."""
    if not path.exists():
        return _State([], {})
    saved = torch.load(path, weights_only=True)
    if saved["fingerprint"] != options.fingerprint:
        return _State([], {})
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    return _State([Epoch(**epoch) for epoch in saved["epochs"]], saved["best"])


def _line(name: str, epoch: int, epochs: int, done: Epoch) -> str:
    metrics = ", ".join(f"{metric} {value:.4f}" for metric, value in done.metrics.items())
    return f"{name} {epoch + 1}/{epochs}: loss {done.loss:.4f}, {metrics} ({done.seconds:.1f} s)"
