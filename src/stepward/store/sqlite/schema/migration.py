"""The file's owner and version, and its numbered, forward-only migrations."""

from __future__ import annotations

from stepward.errors import StoreUnusable
from stepward.store.schema_versions import check_app, check_version, read_migrations
from stepward.store.sqlite.engine.connection import Connection, is_memory

APPLICATION_ID = int.from_bytes(b"Stpd", "big")
"""Marks the file as Stepward's for tools that look."""

FIND_ANY = "select 1 from sqlite_schema limit 1"
FIND_META = "select 1 from sqlite_schema where type = 'table' and name = 'stepward_meta'"
READ_META = "select value from stepward_meta where key = ?"
WRITE_META = "insert into stepward_meta values (?, ?) on conflict (key) do update set value = excluded.value"
VERSION_DONE = "update stepward_meta set value = ? where key = 'schema_version'"


def check_owner(connection: Connection, path: str) -> None:
    """Refuse a file that is no database or that another program has marked as its own."""
    found = connection.raw.pragma("application_id")
    if found not in (0, APPLICATION_ID):
        raise StoreUnusable(
            f"store {path}: expected a new file or a Stepward store, found another program's "
            f"(application_id {found}); name another file"
        )


def use_log(connection: Connection, path: str) -> None:
    """Switch to the write-ahead log, in which readers and the writer do not wait for one another."""
    mode = connection.raw.pragma("journal_mode", "wal")
    if mode != "wal" and not is_memory(path):
        raise StoreUnusable(
            f"store {path}: expected a file system that takes a write-ahead log, found journal mode {mode}; "
            "put the file on a local disk"
        )


def is_current(connection: Connection, app: str, path: str) -> bool:
    """Whether no migration is missing; refuses the file of another application or a newer program."""
    return _check_identity(connection, app, path) == migrations()[-1][0]


def migrate(connection: Connection, app: str, path: str) -> bool:
    """Within a transaction: apply the next missing migration, if any; True if there may be more."""
    version = _check_identity(connection, app, path)
    missing = [(number, text) for number, text in migrations() if number > version]
    if not missing:
        return False
    number, text = missing[0]
    connection.raw.execute(text)
    connection.raw.pragma("application_id", APPLICATION_ID)
    connection.change(WRITE_META, ("app", app))
    connection.change(WRITE_META, ("schema_version", number))
    return len(missing) > 1


def migrations() -> list[tuple[int, str]]:
    """The numbered migrations in order."""
    return read_migrations("sqlite")


def script(number: int, text: str) -> str:
    """The statements of a migration and the note that it is done, for an operator who runs them by hand."""
    return f"{text}{VERSION_DONE.replace('?', str(number))};\n"


def _check_identity(connection: Connection, app: str, path: str) -> int:
    if connection.row(FIND_META) is None:
        return 0
    check_app(_meta(connection, "app"), app, path, "file or app")
    return check_version(_meta(connection, "schema_version"), migrations()[-1][0], path)


def _meta(connection: Connection, key: str) -> object:
    row = connection.row(READ_META, (key,))
    return row[0] if row else None
