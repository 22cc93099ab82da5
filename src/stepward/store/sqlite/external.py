"""Connections of applications, none of which may submit into an SQLite store."""

from __future__ import annotations

from typing import NoReturn

from stepward.errors import Refused
from stepward.store.drivers import name_of


def refuse_borrowed(connection: object) -> NoReturn:
    """A store in a file is written through our own connection alone: two libraries on one file break its locks."""
    raise Refused(
        "transaction: expected one of client.transaction(), as the store is an SQLite file, found "
        f"{name_of(connection)}; write your rows through that one too, or keep an outbox where they are"
    )
