"""One SQLite connection, counted: work runs at once on the loop's thread, and never waits for a lock; and the gate of
its file."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import apsw
import msgspec

from stepward.store.sealing.row_codec import RowCodec

Row = tuple[Any, ...]
Values = Sequence[Any]

STATEMENTS_KEPT = 256
# The comments tell our statements from those of applications on the same connection.
BEGIN_READ = "begin -- to read"
BEGIN_WRITE = "begin immediate -- to write"
COMMIT = "commit -- ours"
ROLLBACK = "rollback -- ours"
PART = "savepoint stepward_writer"
PART_BACK = "rollback to stepward_writer"
PART_DONE = "release stepward_writer"
CACHE_KIB = 65_536
CHECKPOINT_PAGES = 2_000
"""Pages in the log from which on they are written into the file."""
LATE_PAGES = 4 * CHECKPOINT_PAGES
"""Pages from which on a commit writes them: transactions that follow one another leave no callback between them."""
JOURNAL_BYTES = 64 * 1024 * 1024


class Connection:
    """A connection whose statements are counted; every verb finishes its statement before it returns."""

    def __init__(self, path: str, codec: RowCodec | None = None) -> None:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
        if is_memory(path):
            flags |= apsw.SQLITE_OPEN_CREATE
        self.raw = apsw.Connection(path, flags=flags, statementcachesize=STATEMENTS_KEPT)
        self.raw.set_busy_timeout(0)
        self.statements = 0
        self.codec = codec
        """Seals and opens payloads by the texts of queries; None where they are not encrypted."""
        self._savepoints = 0
        self._ours = self._is_due = False

    def tune(self, synchronous: str) -> None:
        """Set what each connection has to set for itself."""
        # Plans that do not look at values: else what asks partial indexes is compiled for each value.
        self.raw.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        self.raw.pragma("synchronous", synchronous)
        self.raw.pragma("foreign_keys", False)
        self.raw.pragma("temp_store", "memory")
        self.raw.pragma("cache_size", -CACHE_KIB)
        # In place of SQLite's own checkpoint, which is part of the commit that makes the log long.
        self.raw.set_wal_hook(self._committed)
        self.raw.pragma("journal_size_limit", JOURNAL_BYTES)

    def rows(self, sql: str, values: Values = ()) -> list[Row]:
        """All rows of one statement."""
        self.statements += 1
        if self.codec is None:
            return self.raw.execute(sql, values).fetchall()
        return self.codec.opened(sql, self.raw.execute(sql, self.codec.sealed(sql, values)).fetchall())

    def row(self, sql: str, values: Values = ()) -> Row | None:
        """The first row, if any."""
        rows = self.rows(sql, values)
        return rows[0] if rows else None

    def change(self, sql: str, values: Values = ()) -> int:
        """Run a changing statement; how many rows it changed."""
        self.statements += 1
        before = self.raw.total_changes()
        self.raw.execute(sql, values if self.codec is None else self.codec.sealed(sql, values))
        return self.raw.total_changes() - before

    def change_many(self, sql: str, many: Iterable[Values]) -> int:
        """Run a changing statement once for each of ``many``; how many rows they changed. Counts as one."""
        self.statements += 1
        before = self.raw.total_changes()
        self.raw.executemany(sql, many if self.codec is None else self.codec.sealed_rows(sql, many))
        return self.raw.total_changes() - before

    def rows_of_many(self, sql: str, many: Iterable[Values]) -> list[Row]:
        """Run a statement once for each of ``many``; the rows that they returned. Counts as one."""
        self.statements += 1
        if self.codec is None:
            return self.raw.executemany(sql, many).fetchall()
        return self.codec.opened(sql, self.raw.executemany(sql, self.codec.sealed_rows(sql, many)).fetchall())

    def begin(self, how: str) -> None:
        """Open a transaction: BEGIN_WRITE to write, BEGIN_READ for a view that does not move."""
        self._control(how)

    def commit(self) -> None:
        """Make the open transaction last."""
        self._control(COMMIT)

    def rollback(self) -> None:
        """Forget the open transaction; SQLite may have done so itself."""
        if self.raw.in_transaction:
            self._control(ROLLBACK)

    @contextmanager
    def savepoint(self, check: Callable[[], None] = lambda: None) -> Iterator[None]:
        """A part of the open transaction that is rolled back by itself when an exception leaves it.

        ``check`` raises where the transaction has ended meanwhile: by then the connection may be in another's.
        """
        # Under a name of its own: what is left late, or ends a savepoint of its own, must not end another's.
        self._savepoints += 1
        name = f"stepward_part_{self._savepoints}"
        self._once(f"savepoint {name}")
        try:
            yield
        except BaseException:
            check()
            # SQLite may have rolled back the whole transaction itself.
            if self.raw.in_transaction:
                self._once(f"rollback to {name}")
                self._once(f"release {name}")
            raise
        check()
        self._once(f"release {name}")

    @contextmanager
    def writers_part(self) -> Iterator[None]:
        """The part of one writer in a transaction that several share, under a name that is compiled once."""
        self._control(PART)
        try:
            yield
        except BaseException:
            if self.raw.in_transaction:
                self._control(PART_BACK)
                self._control(PART_DONE)
            raise
        self._control(PART_DONE)

    def keep_transactions_ours(self) -> None:
        """From now on refuse (apsw.AuthError) statements of others that begin or end a transaction."""
        self.raw.authorizer = self._authorize

    def version(self) -> int:
        """A number that changes when another connection commits; not counted as a statement."""
        value: int = self.raw.execute("pragma data_version").get
        return value

    def break_off(self) -> bool:
        """Close it from another thread, which rolls back; False, and nothing done, outside of a transaction."""
        # Closed and not only rolled back: what its own thread may still run must not commit by itself.
        try:
            if not self.raw.in_transaction:
                return False
            self.raw.interrupt()
            self.raw.close(True)
        except apsw.Error:  # its own thread was in it at this very moment
            return False
        return True

    def close(self) -> None:
        """Let go of the file."""
        self.raw.close()

    def _committed(self, _: apsw.Connection, __: str, pages: int) -> int:
        """Have a long log written into the file, in a callback of its own where an event loop runs."""
        if pages >= LATE_PAGES:
            self._write_log()
        elif pages >= CHECKPOINT_PAGES and not self._is_due:
            self._is_due = True
            try:
                asyncio.get_running_loop().call_soon(self._checkpoint)
            except RuntimeError:
                self._checkpoint()
        return apsw.SQLITE_OK

    def _checkpoint(self) -> None:
        self._is_due = False
        self._write_log()

    def _write_log(self) -> None:
        # What cannot be written now is so with a later commit, or when the file is closed.
        with suppress(apsw.Error):
            self.raw.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def _once(self, sql: str) -> None:
        """Run a statement that never comes again: it would drive others out of the cache."""
        self.statements += 1
        self.raw.execute(sql, can_cache=False)

    def _control(self, sql: str) -> None:
        self.statements += 1
        self._ours = True
        try:
            self.raw.execute(sql)
        finally:
            self._ours = False

    def _authorize(self, operation: int, *_: object) -> int:
        allowed = operation != apsw.SQLITE_TRANSACTION or self._ours
        return apsw.SQLITE_OK if allowed else apsw.SQLITE_DENY


class WriterGate:
    """The gate before a file that several processes write: one that has waited for long goes first.

    SQLite sends a connection that waits no signal, and a busy process may begin its next transaction before another
    looks again. Each writer looks whether the gate is open before it begins; one that has waited for a while closes it
    until its own transaction has ended. The gate is ``flock`` on the write-ahead log, which SQLite itself does not
    lock: it has the rights of the store, and the system opens it when a process dies.
    """

    def __init__(self, path: str) -> None:
        # SQLite keeps it beside the file itself, not beside a link to it.
        self._log = f"{os.path.realpath(path)}-wal"
        self._file: int | None = None

    def is_open(self) -> bool:
        """Whether no other store object has closed it."""
        try:
            gate = self._opened() if self._file is None else self._file
            fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(gate, fcntl.LOCK_UN)
        except BlockingIOError:
            return False
        except OSError:  # no log yet, or no locks on this file system
            return True
        return True

    def close(self) -> bool:
        """Hold the others back until ``open``; False if another does."""
        try:
            fcntl.flock(self._opened(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def open(self) -> None:
        """Hold back no other any more."""
        if self._file is not None:
            with suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def forget(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _opened(self) -> int:
        if self._file is None:
            # It is the same file as long as a connection of this object is open.
            self._file = os.open(self._log, os.O_RDONLY | os.O_CLOEXEC)
        return self._file


def is_memory(path: str) -> bool:
    """Whether the path is the URI of an in-memory database shared by the stores of one process."""
    return path.startswith("file:") and "vfs=memdb" in path


def encoded(values: Sequence[Any]) -> str:
    """An array as json_each takes it: bytes would be read as its binary form."""
    return msgspec.json.encode(values).decode()
