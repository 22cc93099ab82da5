"""The output of ``--json``: the records' fields under their own names, instants in RFC 3339 UTC."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import click
from msgspec import Struct, structs

from stepward.payload import displayed
from stepward.views.times import instant

INSTANTS = frozenset(
    {
        "acknowledged_at",
        "as_of",
        "at",
        "buried_at",
        "complete_by",
        "created_at",
        "deadline",
        "deferred_at",
        "drain_at",
        "delivered_at",
        "expires_at",
        "finished_at",
        "opened_at",
        "progress_at",
        "reported_at",
        "resolved_at",
        "set_at",
        "started_at",
        "suspended_at",
        "until",
    }
)


def plain(record: Struct) -> dict[str, Any]:
    """A record in JSON types; payloads are decoded."""
    return {name: _value(name, value) for name, value in structs.asdict(record).items()}


def keys(record: type[Struct], *, without: Iterable[str] = (), more: Iterable[str] = ()) -> str:
    """The line of a command's help that lists the keys of its JSON."""
    named = [name for name in record.__struct_fields__ if name not in without]
    return f"Keys under --json: {', '.join([*named, *more])}."


def print_json(value: object) -> None:
    """Write a value to stdout in ASCII, so that no payload reaches the terminal unescaped."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=True))


def _value(name: str, value: object) -> Any:
    if isinstance(value, Struct):
        return plain(value)
    if isinstance(value, list):
        return [_value(name, each) for each in value]
    if isinstance(value, dict):
        return {key: _value(name, each) for key, each in value.items()}
    if name in INSTANTS and isinstance(value, float):
        return instant(value)
    return displayed(value) if isinstance(value, bytes) else value
