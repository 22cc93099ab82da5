"""Where a relay takes rows from."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from stepward.errors import SettingsError
from stepward.outbox.entry import OutboxRow
from stepward.readers import without_login
from stepward.store.address import SCHEME, is_postgres, postgres_place, sqlite_path


class OutboxBatch(Struct):
    """Rows that were taken, and what became of them, to be recorded when the batch is left."""

    rows: Sequence[OutboxRow]
    made: list[int] = field(default_factory=list)
    aside: list[tuple[int, str]] = field(default_factory=list)


class OutboxSource(Protocol):
    """An outbox of one application in one database."""

    @property
    def shown(self) -> str:
        """Its place, for messages."""
        ...

    def taken(self, most: int, without: Sequence[int]) -> AbstractAsyncContextManager[OutboxBatch]:
        """The first rows without those of these numbers; what became of them is recorded when the block ends.

        If it raises, all are as they were. Raises StoreUnavailable where the database cannot be reached, StoreUnusable
        where it can never be.
        """
        ...

    async def close(self) -> None:
        """Let go of the connection."""
        ...


def check_outbox(address: str, store: str | None = None) -> None:
    """Raises SettingsError unless it is the address of a database that may hold an outbox, and not the store's file."""
    if not isinstance(address, str) or not (is_postgres(address) or address.startswith(SCHEME)):
        raise SettingsError(
            f"outbox: expected postgresql://user@host/database or sqlite:///file.db, found {_found(address)}; "
            "correct it"
        )
    if is_postgres(address):
        postgres_place(address)
    elif store is not None and not is_postgres(store) and _file(address) == _file(store):
        raise SettingsError(
            "outbox: expected another file than the store's, found the same; write rows and tasks there with "
            "client.transaction()"
        )
    else:
        sqlite_path(address)


def _found(address: object) -> str:
    return repr(without_login(address))[:60] if isinstance(address, str) else f"{address!r:.60}"


def _file(address: str) -> Path:
    return Path(sqlite_path(address)).resolve()


def source_of(address: str, app: str, limit: int) -> OutboxSource:
    """The outbox in the database of that address. Raises SettingsError for one of another form."""
    check_outbox(address)
    if is_postgres(address):
        from stepward.outbox.postgres import PostgresSource  # noqa: PLC0415  an extra's

        return PostgresSource(postgres_place(address), app, limit)
    from stepward.outbox.sqlite import SqliteSource  # noqa: PLC0415  only where there is one

    return SqliteSource(sqlite_path(address), app, limit)
