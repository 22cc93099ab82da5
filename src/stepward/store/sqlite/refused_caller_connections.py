"""Refuses a submission in a transaction on the caller's own connection, which a store in a file cannot join."""

from __future__ import annotations

from typing import NoReturn

from stepward.errors import Refused
from stepward.store.drivers import name_of
from stepward.store.verbs.actors.client import ClientVerbs


class SqliteClient(ClientVerbs):
    """Implements ``ClientStore`` on a file."""

    def external(self, connection: object) -> NoReturn:
        """Refuses: a store in a file is written through its own connection alone, as two libraries break its locks."""
        raise Refused(
            "transaction: expected one of client.transaction(), as the store is an SQLite file, found "
            f"{name_of(connection)}; write your rows through that one too, or keep an outbox where they are"
        )
