"""Finding code by the name that a configuration gives it."""

import importlib
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

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
    """`module:attribute`(*parts, **options), with the options checked against the keyword-only parameters.

    ConfigError with the path of the entry below `field` where one is unknown, missing or of the wrong type.
    """
    function = resolve(reference, field=f"{field}.use")
    try:
        checked = _options_model(function).model_validate(dict(options))
        return function(*parts, **{name: getattr(checked, name) for name in type(checked).model_fields})
    except ValidationError as error:
        raise config_error(error, field=f"{field}.options") from error
    except ConfigError as error:
        raise ConfigError(f"{field}.options.{error.field}", error.problem) from error


def _options_model(function: Callable[..., Any]) -> type[BaseModel]:
    """The options that a plug-in takes, as a pydantic model."""
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {
        name: (hints[name], ... if parameter.default is parameter.empty else parameter.default)
        for name, parameter in signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    return create_model("Options", __config__=ConfigDict(extra="forbid", protected_namespaces=()), **fields)
