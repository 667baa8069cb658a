"""The one error tree, grouped by what the caller does next."""


class NaviError(Exception):
    """Anything that Navi raises on purpose; `str(error)` is fit to show to a caller."""


class CallerError(NaviError):
    """The request is wrong: sending it again unchanged fails again."""


class InvalidArgument(CallerError):
    """A value of the request is wrong; `field` is its path in the request."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class NotFound(CallerError):
    """The request names a thing (`kind`, `name`) that is not here."""

    def __init__(self, kind: str, name: object, known: tuple[str, ...] = ()) -> None:
        hint = f"; known: {', '.join(known[:10])}" if known else ""
        super().__init__(f"{kind} {name!r} is not known{hint}")
        self.kind = kind
        self.name = str(name)


class Unsupported(CallerError):
    """The request asks for what this server does not do."""


class Unauthenticated(CallerError):
    """The caller did not say, or could not show, who it is."""


class PermissionDenied(CallerError):
    """The caller is known, and may not do this."""


class RetryError(NaviError):
    """The request is fine: the caller may send it again later."""


class Overloaded(RetryError):
    """Refused at the door; worth another try after `retry_after_s` seconds."""

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Unavailable(RetryError):
    """A part is still loading, draining or gone."""


class AbandonedError(NaviError):
    """Nobody waits for the answer any more."""


class DeadlineExceeded(AbandonedError):
    """The deadline passed, or could not be met."""


class Cancelled(AbandonedError):
    """The caller went away."""


class SetupError(NaviError):
    """The operator's files are wrong: nothing starts until they are mended."""


class ConfigError(SetupError):
    """A configuration file has a wrong, missing or unknown entry; `field` is its path."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class BundleError(SetupError):
    """A file of a bundle is missing, damaged, or does not belong to the others."""


class ModelError(SetupError):
    """A model cannot be loaded, or is not what its `model.toml` says."""


class FaultError(NaviError):
    """Navi, or what it runs on, failed: the operator should look."""


class BackendError(FaultError):
    """A model failed while it ran.

    by_values: on the values that it was given, as an id out of its range; other values may do.
    """

    def __init__(self, message: str, *, by_values: bool = False) -> None:
        super().__init__(message)
        self.by_values = by_values


class StageError(FaultError):
    """A source, filter or stage broke its contract or raised; `stage` is its name."""

    def __init__(self, stage: str, problem: str) -> None:
        super().__init__(f"stage {stage!r}: {problem}")
        self.stage = stage
        self.problem = problem


class StoreError(FaultError):
    """A feature store could not be read or written."""
