"""The seam through which comings and goings of models are watched."""

from typing import Literal, Protocol, TypeAlias

from navi.bundle.loaded import Loaded

SwapOutcome: TypeAlias = Literal["swapped", "failed"]


class SwapObserver(Protocol):
    """Told by the thread that looks after models; must not raise."""

    def loaded(self, model: Loaded) -> None:
        """A version is in memory."""
        ...

    def unloaded(self, model: Loaded) -> None:
        """It is not any more."""
        ...

    def swapped(self, model: str, outcome: SwapOutcome) -> None:
        """Another version of a model serves from now on, or was to and cannot (`failed`)."""
        ...


class Unwatched:
    """Nobody watches."""

    def loaded(self, model: Loaded) -> None:
        pass

    def unloaded(self, model: Loaded) -> None:
        pass

    def swapped(self, model: str, outcome: SwapOutcome) -> None:
        pass
