"""The identity of the store in a file, read without changing or creating anything."""

from __future__ import annotations

from pathlib import Path

import apsw

from stepward.errors import StoreUnavailable, StoreUnusable
from stepward.store.contract import Identity
from stepward.store.schema_versions import check_version
from stepward.store.sqlite.engine.connection import is_memory
from stepward.store.sqlite.engine.error_translation import translated
from stepward.store.sqlite.schema.migration import APPLICATION_ID, FIND_ANY, FIND_META, READ_META, migrations, script

BUSY_MILLISECONDS = 5_000


def read_identity(path: str) -> Identity:
    """The app and schema version of a store; StoreUnavailable where there is none, StoreUnusable for other files."""
    if not is_memory(path) and not _exists(path):
        raise StoreUnavailable(
            f"store {path}: expected a Stepward store, found no such file; start its application first, "
            "or name another store"
        )
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        try:
            connection.set_busy_timeout(BUSY_MILLISECONDS)
            return _read(connection, path)
        finally:
            connection.close()
    except apsw.Error as error:
        raise translated(error, path) from error


def read_missing(path: str) -> list[str]:
    """The SQL that brings that store to this program's schema, a transaction each. Raises as ``read_identity`` does."""
    stands = read_identity(path).schema_version
    return [f"begin;\n{script(number, text)}commit;" for number, text in migrations() if number > stands]


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError as error:
        raise StoreUnavailable(
            f"store {path}: expected a file, found {error.strerror}; look at its permissions"
        ) from None


def _read(connection: apsw.Connection, path: str) -> Identity:
    mark = connection.pragma("application_id")
    if mark == 0 and connection.execute(FIND_ANY).fetchone() is None:
        # A new store is a file first, and is filled in one transaction.
        raise StoreUnavailable(
            f"store {path}: expected a Stepward store, found an empty one; wait until its application has made it, "
            "or name another store"
        )
    if mark != APPLICATION_ID or connection.execute(FIND_META).fetchone() is None:
        raise StoreUnusable(
            f"store {path}: expected a Stepward store, found another database; name the store of an application"
        )
    app, version, ident = (connection.execute(READ_META, (key,)).get for key in ("app", "schema_version", "store_id"))
    newest = migrations()[-1][0]
    return Identity(app, check_version(version, newest, path), newest, ident)
