"""The outbox of an address, in a file or on a server."""

from __future__ import annotations

from pathlib import Path

from stepward.errors import SettingsError
from stepward.outbox.source import OutboxSource
from stepward.settings.readers import without_login
from stepward.store.address import SCHEME, is_postgres, postgres_place, sqlite_path


def check_outbox(address: str, store: str | None = None) -> None:
    """Raise SettingsError unless it is the address of a database for an outbox, other than the store's own file."""
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
    """The outbox in the database of that address. Raises SettingsError for another form of address."""
    check_outbox(address)
    if is_postgres(address):
        from stepward.outbox.postgres import PostgresSource  # noqa: PLC0415  an extra's

        return PostgresSource(postgres_place(address), app, limit)
    from stepward.outbox.sqlite import SqliteSource  # noqa: PLC0415  only where there is one

    return SqliteSource(sqlite_path(address), app, limit)
