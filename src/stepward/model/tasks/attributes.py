"""Search attributes: typed values of a task by which it is found; bounded in number and size."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from stepward.durations import shown
from stepward.errors import Refused
from stepward.model.tasks.control_characters import UNPRINTABLE
from stepward.payload import readable

AttributeValue = str | int | float | bool | datetime
ATTRIBUTE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
MOST_ATTRIBUTES = 20
LONGEST_ATTRIBUTE = 200
LARGEST_NUMBER = 2.0**53
"""Largest whole number that a float represents exactly."""
TIME = "time"
"""The key of an object that stands for an instant, in seconds since 1970."""
NO_ATTRIBUTES = b"{}"
SET_ATTRIBUTES = "set_attributes"
"""The name of the record by which workflow code set some."""


def encoded(attributes: Mapping[str, AttributeValue] | None) -> bytes:
    """Attributes as a task keeps them. Raises Refused for a name or a value that is none."""
    return merged(NO_ATTRIBUTES, {} if attributes is None else attributes)


def merged(before: bytes, attributes: Mapping[str, AttributeValue | None]) -> bytes:
    """Attributes with some of them replaced, and those that are None taken away. Raises Refused."""
    if not isinstance(attributes, Mapping):
        raise Refused(f"attributes: expected values by name, found {shown(attributes)}; give a mapping")
    found = _decoded(before)
    for name, value in attributes.items():
        _check_name(name)
        if value is None:
            found.pop(name, None)
        else:
            found[name] = _plain(name, value)
    if len(found) > MOST_ATTRIBUTES:
        raise Refused(f"attributes: expected at most {MOST_ATTRIBUTES}, found {len(found):,}; leave some out")
    return msgspec.json.encode(dict(sorted(found.items())))


def decoded(attributes: bytes) -> dict[str, AttributeValue]:
    """Attributes as applications see them; what cannot be read is left out."""
    read = {name: _read(value) for name, value in _decoded(attributes).items()}
    return {name: value for name, value in read.items() if value is not None}


def _decoded(attributes: bytes) -> dict[str, object]:
    found = readable(attributes)
    return found if isinstance(found, dict) else {}


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not ATTRIBUTE_NAME.fullmatch(name):
        raise Refused(
            "attributes: expected names of 1 to 64 of A-Z a-z 0-9 _ . : - that begin with a letter, "
            f"found {shown(name)}"
        )


def _plain(name: str, value: AttributeValue) -> object:
    if isinstance(value, bool):
        return value
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise Refused(f"attribute {name}: expected a datetime with a time zone, found {value}; give it one")
        return {TIME: value.timestamp()}
    if isinstance(value, int | float):
        if not math.isfinite(value) or abs(value) > LARGEST_NUMBER:
            raise Refused(f"attribute {name}: expected a number of at most 2^53, found {shown(value)}; use a text")
        return value
    if not isinstance(value, str):
        raise Refused(f"attribute {name}: expected a text, number, bool or datetime, found {shown(value)}; give one")
    if len(value) > LONGEST_ATTRIBUTE or UNPRINTABLE.search(value):
        raise Refused(
            f"attribute {name}: expected at most {LONGEST_ATTRIBUTE} characters and none of control, "
            f"found {shown(value)}; give a short text"
        )
    return value


def _read(value: object) -> AttributeValue | None:
    if isinstance(value, dict):
        at = value.get(TIME)
        try:
            return datetime.fromtimestamp(at, UTC) if isinstance(at, int | float) else None
        except (ValueError, OverflowError, OSError):
            return None
    return value if isinstance(value, str | int | float) else None
