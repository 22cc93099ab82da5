"""Pydantic models in payloads: written, read and described by pydantic itself, which is never imported here.

A model is recognised by its class; an application that has none does not need pydantic.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

DEFS = "$defs"
PREFIX = "pydantic."
"""Before the names of the definitions of models, apart from those of the other types."""
PLACE = f"#/{DEFS}/{PREFIX}{{model}}"


def is_model(kind: object) -> bool:
    """Whether a type is a pydantic model (version 2)."""
    return hasattr(kind, "__pydantic_validator__") and hasattr(kind, "model_validate_json")


def encode_model(value: Any) -> object:
    """The content of a model as JSON types. Raises TypeError, as msgspec does, for any other type unknown to it."""
    if not is_model(type(value)):
        raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")
    return value.model_dump(mode="json", by_alias=True)


def decode_model(kind: Any, value: object) -> object:
    """The model of decoded JSON. Raises ValueError in one line for values that do not fit, TypeError for any other type
    that msgspec does not know."""
    if not is_model(kind):
        if isinstance(kind, type) and isinstance(value, kind):
            return value  # As it does where msgspec decodes by itself.
        raise TypeError(f"Expected `{getattr(kind, '__name__', kind)}`, got `{type(value).__name__}`")
    try:
        # As JSON: models in strict mode take a text for a time or a UUID only there.
        return kind.model_validate_json(msgspec.json.encode(value))
    except ValueError as error:
        raise ValueError(_in_one_line(kind, error)) from None


def schema_of_model(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a model; ``hoisted`` moves its definitions to the top. Raises NotImplementedError, as msgspec
    asks for, for any other type."""
    if not is_model(kind):
        raise NotImplementedError(f"no JSON Schema of {kind}")
    schema: dict[str, Any] = kind.model_json_schema(ref_template=PLACE)
    return schema


def hoisted(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with the definitions of models beside the others, where references find them."""
    found: dict[str, Any] = {}
    for part in _parts(schema.get(DEFS, {})):
        for name, definition in part.pop(DEFS, {}).items():
            found[f"{PREFIX}{name}"] = definition
    if found:
        schema[DEFS] |= found
    return schema


def _parts(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a schema."""
    if isinstance(value, dict):
        yield value
        for part in list(value.values()):
            yield from _parts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _parts(part)


def _in_one_line(kind: Any, error: ValueError) -> str:
    errors: Any = getattr(error, "errors", None)
    if errors is None:
        return str(error)
    first = errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{first['msg'][:1].lower()}{first['msg'][1:]} at `{kind.__name__}{'.' if place else ''}{place}`"
