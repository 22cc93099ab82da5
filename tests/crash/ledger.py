"""The remote service's own book: what took effect, by idempotency key, in a file that is not Stepward's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

BUSY_SECONDS = 20.0


@dataclass(frozen=True)
class Entry:
    """One effect; ``calls`` counts how often it was asked for under its key."""

    number: int
    key: str
    verb: str
    task: str
    what: str
    calls: int


class Ledger:
    """A service that deduplicates by key, and refuses a late effect whose undo it has seen."""

    def __init__(self, path: str) -> None:
        self._path = path
        with self._open() as connection:
            connection.execute("pragma journal_mode = wal")
            connection.execute(
                "create table if not exists entry (number integer primary key, key text unique, verb text,"
                " task text, what text, calls integer)"
            )
            connection.execute("create table if not exists tombstone (key text primary key, late integer)")
        # Whoever closes the last connection locks out readers for a moment: a process that is stopped in it, for long.
        # This one stays, and has the file from its first read on.
        self._keeper = self._connect()
        self._is_made(self._keeper)

    def close(self) -> None:
        """Let go of the file."""
        self._keeper.close()

    def do(self, key: str, task: str, what: str) -> bool:
        """Take effect once; False, with nothing done, when the undo of it came first."""
        with self._open() as connection:
            if connection.execute("update tombstone set late = late + 1 where key = ?", (key,)).rowcount:
                return False
            self._enter(connection, key, "do", task, what)
        return True

    def undo(self, key: str, undoes: str, task: str, what: str) -> None:
        """Take an effect back, or keep it from ever happening."""
        with self._open() as connection:
            connection.execute("insert into tombstone values (?, 0) on conflict do nothing", (undoes,))
            self._enter(connection, key, "undo", task, what)

    def entries(self) -> list[Entry]:
        """All effects in the order in which they happened."""
        with closing(self._connect()) as connection:
            rows = connection.execute("select number, key, verb, task, what, calls from entry order by number")
            return [Entry(*row) for row in rows]

    def late(self) -> int:
        """How many effects came after their undo, and were refused."""
        with closing(self._connect()) as connection:
            return int(connection.execute("select coalesce(sum(late), 0) from tombstone").fetchone()[0])

    def _enter(self, connection: sqlite3.Connection, key: str, verb: str, task: str, what: str) -> None:
        connection.execute(
            "insert into entry (key, verb, task, what, calls) values (?, ?, ?, ?, 1)"
            " on conflict (key) do update set calls = calls + 1",
            (key, verb, task, what),
        )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        connection = self._connect()
        try:
            if self._is_made(connection):
                connection.execute("begin immediate")
            yield connection
            if connection.in_transaction:
                connection.execute("commit")
        finally:
            connection.close()

    def _connect(self) -> sqlite3.Connection:
        # Readers take no lock: a process that was stopped in the middle of an effect may hold it.
        return sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None)

    @staticmethod
    def _is_made(connection: sqlite3.Connection) -> bool:
        found = connection.execute("select count(*) from sqlite_master where name = 'tombstone'").fetchone()
        return bool(found[0])
