"""Finding code by the name that a configuration gives it."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ConfigDict, ValidationError, validate_call

from navi.bundle.config import config_error
from navi.core.errors import ConfigError


def resolve(reference: str, *, field: str) -> Callable[..., Any]:
    """The callable that `module:attribute` names; ConfigError naming `field` where there is none."""
    module_name, _, attribute = reference.partition(":")
    if not module_name or not attribute:
        raise ConfigError(field, f"{reference!r} is not of the form module:attribute")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ConfigError(field, f"module {module_name!r} cannot be imported: {error}") from error
    found = getattr(module, attribute, None)
    if not callable(found):
        raise ConfigError(field, f"module {module_name!r} has no callable {attribute!r}")
    return found  # type: ignore[no-any-return]


def make(reference: str, *parts: object, options: Mapping[str, object], field: str) -> Any:
    """`module:attribute`(*parts, **options), with the options checked against the callable's annotations."""
    checked = validate_call(config=ConfigDict(arbitrary_types_allowed=True))
    function = checked(resolve(reference, field=f"{field}.use"))
    try:
        return function(*parts, **options)
    except ValidationError as error:
        raise config_error(error, field=f"{field}.options") from error
    except ConfigError as error:
        raise ConfigError(f"{field}.options.{error.field}", error.problem) from error
