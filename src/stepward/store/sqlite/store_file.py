"""The file of a store: made for its owner alone, refused where others could replace or write it, and recognised beside
empty files and those of other programs."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from errno import EACCES, EISDIR
from pathlib import Path

import apsw

from stepward.errors import StoreUnavailable, StoreUnusable
from stepward.store.contract import Identity
from stepward.store.schema_versions import check_version
from stepward.store.sqlite.engine.connection import is_memory
from stepward.store.sqlite.engine.error_translation import translated
from stepward.store.sqlite.schema.migration import APPLICATION_ID, FIND_ANY, FIND_META, READ_META, migrations, script

FILE_MODE = 0o600
BUSY_MILLISECONDS = 5_000


def prepare_file(path: str) -> None:
    """Make an empty file that only its owner may read, unless there is one; raises StoreUnavailable."""
    if is_memory(path):
        return
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise StoreUnavailable(f"store {path}: expected the folder {folder}, found none; create it")
    try:
        _check_rights(path, folder, _made(Path(path)))
    except OSError as error:
        raise StoreUnavailable(
            f"store {path}: expected a file that may be written, found: {error.strerror}; look at its path"
        ) from None
    if not os.access(folder, os.W_OK, effective_ids=True):
        raise StoreUnavailable(
            f"store {path}: expected a folder that may be written, found {folder} read-only; allow writing"
        )


def _made(path: Path) -> os.stat_result:
    """The file, which is made if it is not there.

    One that is there is never opened: closing it would drop the locks of SQLite that this process has on it.
    """
    with suppress(FileExistsError):
        os.close(os.open(path.resolve(), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
    if not os.access(path, os.R_OK | os.W_OK, effective_ids=True):
        raise PermissionError(EACCES, os.strerror(EACCES))
    return found


def _check_rights(path: str, folder: Path, found: os.stat_result) -> None:
    """Refuse what others could replace or write into."""
    if not stat.S_ISREG(found.st_mode):
        raise StoreUnusable(f"store {path}: expected a plain file, found a pipe or a device; name another file")
    if found.st_mode & stat.S_IWOTH:
        raise StoreUnusable(
            f"store {path}: expected a file that only its owner and group may write, found one that all users may; "
            "run chmod o-w on it"
        )
    around = folder.stat()
    is_sticky = bool(around.st_mode & stat.S_ISVTX)
    if around.st_mode & stat.S_IWOTH and not (is_sticky and found.st_uid in (os.geteuid(), 0)):
        raise StoreUnusable(
            f"store {path}: expected a folder in which only its owner and group may write, found {folder}, where "
            "all users may; run chmod o-w on it, or put the store elsewhere"
        )


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
