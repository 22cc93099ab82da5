"""Secrets in payloads: values that applications read, and that no log, page, API, error or ``repr`` shows.

In JSON a secret is an object with one field, so that code that shows a payload can leave it out without the
application's types.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import msgspec

from stepward.payload.pydantic_models import decode_model, encode_model, schema_of_model

T = TypeVar("T")

MARK = "stepward.secret"
MARKED = b'"stepward.secret"'
"""In the JSON of every payload that holds a secret."""
MASK = "**********"
DEEPEST = 8
"""Levels of types within types in which secrets are looked for."""
SHOWN_MASK = b'"**********"'
"""The mask in JSON."""
SCHEMA_MARK = "x-stepward-secret"
"""Marks secrets in a JSON Schema."""


class Secret(Generic[T]):
    """A value that is shown nowhere: ``Secret("4111")``, with ``card: Secret[str]`` as a parameter's or field's type.

    ``reveal()`` gives the value. Texts, ``repr`` and error data made of it hold asterisks. Arguments given as plain
    values for a ``Secret`` parameter are recorded as secrets.
    """

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    def reveal(self) -> T:
        """The value itself."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({MASK!r})"

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and bool(self._value == other._value)

    def __hash__(self) -> int:
        return hash((Secret, self._value))


def encode_custom(value: Any) -> object:
    """Secrets and pydantic models as JSON types. Raises TypeError for other types that msgspec does not know."""
    return {MARK: value.reveal()} if isinstance(value, Secret) else encode_model(value)


def decode_custom(kind: Any, value: object) -> object:
    """The secret or the model of decoded JSON; a plain value for a secret becomes one."""
    if kind is object:
        return value  # Asked for each value of a ``dict[str, object]``: what takes any value needs no look at its type.
    if not _is_secret(kind):
        return decode_model(kind, value)
    inner = (typing.get_args(kind) or (Any,))[0]
    plain = value[MARK] if isinstance(value, dict) and value.keys() == {MARK} else value
    return Secret(msgspec.convert(plain, inner, dec_hook=decode_custom, str_keys=True))


def schema_of_custom(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a secret or a model: a secret may be given as a plain value too."""
    if not _is_secret(kind):
        return schema_of_model(kind)
    inner = msgspec.json.schema((typing.get_args(kind) or (Any,))[0], schema_hook=schema_of_custom)
    plain: dict[str, Any] = {} if "$defs" in inner else inner
    marked = {"type": "object", "properties": {MARK: plain}, "required": [MARK], "additionalProperties": False}
    return {"anyOf": [marked, plain], SCHEMA_MARK: True}


def holds_secrets(kind: Any, depth: int = 0) -> bool:
    """Whether a type is a secret, or one with secrets in its parts or fields."""
    if _is_secret(kind):
        return True
    if depth > DEEPEST:
        return False
    fields = getattr(kind, "__struct_fields__", ()) or getattr(kind, "__dataclass_fields__", ())
    hints = typing.get_type_hints(kind, include_extras=True).values() if fields else ()
    return any(holds_secrets(each, depth + 1) for each in (*typing.get_args(kind), *hints))


def redacted(value: Any) -> Any:
    """JSON types with asterisks in place of secrets."""
    if isinstance(value, dict):
        return MASK if MARK in value else {name: redacted(each) for name, each in value.items()}
    return [redacted(each) for each in value] if isinstance(value, list) else value


def redacted_text(data: bytes) -> bytes:
    """A payload or a message with asterisks in place of secrets; without JSON that can be read, nothing of it."""
    if MARKED not in data:
        return data
    try:
        return msgspec.json.encode(redacted(msgspec.json.decode(data)))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return MASK.encode()


def marked(value: Any, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """JSON types with plain values marked as secrets where the schema says that they are."""
    if "$ref" in schema:
        schema = definitions.get(str(schema["$ref"]).rpartition("/")[2], {})
    if schema.get(SCHEMA_MARK):
        return value if isinstance(value, dict) and value.keys() == {MARK} else {MARK: value}
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        return {name: marked(each, fields.get(name, {}), definitions) for name, each in value.items()}
    if isinstance(value, list):
        first, rest = schema.get("prefixItems", []), schema.get("items") or {}
        kinds = [*first, *[rest] * len(value)]
        return [marked(each, kind, definitions) for each, kind in zip(value, kinds, strict=False)]
    return value


def marked_as(value: Any, recorded: Any) -> Any:
    """JSON types with plain values marked as secrets where those of another payload are."""
    if isinstance(recorded, dict) and recorded.keys() == {MARK}:
        return value if isinstance(value, dict) and value.keys() == {MARK} else {MARK: value}
    if isinstance(value, dict) and isinstance(recorded, dict):
        return {name: marked_as(each, recorded.get(name)) for name, each in value.items()}
    if isinstance(value, list) and isinstance(recorded, list):
        kinds = [*recorded, *[None] * len(value)]
        return [marked_as(each, kind) for each, kind in zip(value, kinds, strict=False)]
    return value


def _is_secret(kind: Any) -> bool:
    return kind is Secret or typing.get_origin(kind) is Secret
