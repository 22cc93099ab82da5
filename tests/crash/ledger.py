"""The remote service's own book: what took effect, by idempotency key, in a file that is not Stepward's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from servers.ledger import SCHEMA, EffectLedger

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
            connection.executescript(SCHEMA)
        # Closing the last connection locks out readers for a moment; a process that is stopped in it, for long.
        # This one stays, and has the file from its first read on.
        self._keeper = self._connect()
        self._is_made(self._keeper)

    def close(self) -> None:
        """Let go of the file."""
        self._keeper.close()

    def do(self, key: str, task: str, what: str) -> bool:
        """Take effect once; False, with nothing done, when the undo of it came first."""
        with self._open() as connection:
            ledger = EffectLedger(connection)
            if ledger.refuses(key, _now()):
                return False
            _enter(ledger, key, "do", task, what)
        return True

    def undo(self, key: str, undoes: str, task: str, what: str) -> None:
        """Take an effect back, or keep it from ever happening."""
        with self._open() as connection:
            ledger = EffectLedger(connection)
            ledger.bury(undoes, _now(), key)
            _enter(ledger, key, "undo", task, what)

    def entries(self) -> list[Entry]:
        """All effects in the order in which they happened."""
        with closing(self._connect()) as connection:
            connection.execute("begin")
            ledger = EffectLedger(connection)
            calls = ledger.deliveries()
            return [
                Entry(each.number, each.key, each.action, each.order_id, each.details, calls[each.key])
                for each in ledger.effects()
            ]

    def late(self) -> int:
        """How many effects came after their undo, and were refused."""
        with closing(self._connect()) as connection:
            return EffectLedger(connection).refusals()

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
        found = connection.execute("select count(*) from sqlite_master where name = 'refusal'").fetchone()
        return bool(found[0])


def _enter(ledger: EffectLedger, key: str, verb: str, task: str, what: str) -> None:
    if ledger.deliver(key, _now()) == 1:
        ledger.enter(key, verb, task, what, at=_now())


def _now() -> str:
    return datetime.now(UTC).isoformat()
