"""The parameters of a callable, checked, and as the fields of a struct."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from types import GenericAlias
from typing import Any

import msgspec

from stepward.errors import DeclarationError


def parameters_of(fn: Callable[..., Any], what: str) -> list[inspect.Parameter]:
    """The parameters of a function. Raises DeclarationError for variable ones."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except ValueError as error:
        raise DeclarationError(f"{what}: expected a Python function, found {error}; wrap it in one") from None
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise DeclarationError(
                f"{what}: expected named parameters, found {parameter}; take a list or a dict instead"
            )
    return parameters


def struct_of(what: str, parameters: list[inspect.Parameter], hints: Mapping[str, Any]) -> type[msgspec.Struct]:
    """A struct with a field for each parameter, written as an array."""
    fields: list[Any] = []
    for number, parameter in enumerate(parameters):
        field = (f"p{number}_{parameter.name}", hints.get(parameter.name, Any))
        if parameter.default is parameter.empty:
            fields.append(field)
        else:
            fields.append((*field, msgspec.field(default_factory=_constant(parameter.default))))
    return msgspec.defstruct("Arguments", fields, array_like=True, forbid_unknown_fields=True, kw_only=True)


def hints_of(fn: Callable[..., Any], what: str) -> dict[str, Any]:
    """The resolved annotations. Raises DeclarationError for those that cannot be resolved."""
    try:
        return typing.get_type_hints(fn, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError) as error:
        raise DeclarationError(
            f"{what}: expected annotations that can be resolved where it is declared, found {error}"
        ) from None


def without_hooks(kind: Any) -> Any:
    """The type with ``Any`` for each ``object`` in it: msgspec asks a hook about each value that is an ``object``."""
    if kind is object:
        return Any
    if isinstance(kind, GenericAlias):
        origin: Any = kind.__origin__
        return origin[tuple(without_hooks(each) for each in kind.__args__)]
    return kind


def _constant(value: object) -> Callable[[], object]:
    return lambda: value
