"""The ledger of a remote service: what it did under which idempotency key, how often it was asked, what it refused.

The shop's services, the service under torture and that of the crash tests keep their books so. Transactions are the
caller's: each of them opens its file in its own way.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import msgspec

SCHEMA = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
FIELDS = "number, at, key, action, order_id, details, undoes"


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the ledger; `undoes` is the key of the effect that this one takes back."""

    number: int
    at: str
    key: str
    action: str
    order_id: str
    details: Any
    undoes: str | None


class EffectLedger:
    """The tables of `ledger.sql` over a connection; the caller begins and commits."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def deliver(self, key: str, at: str) -> int:
        """Count an arrival of the key; how many there have been, this one included."""
        self._connection.execute("INSERT INTO delivery (at, key) VALUES (?, ?)", (at, key))
        return int(self._connection.execute("SELECT count(*) FROM delivery WHERE key = ?", (key,)).fetchone()[0])

    def deliveries(self) -> dict[str, int]:
        """How often each key has arrived."""
        rows = self._connection.execute("SELECT key, count(*) FROM delivery GROUP BY key ORDER BY min(number)")
        return dict(rows.fetchall())

    def refuses(self, key: str, at: str) -> bool:
        """Whether an effect under the key was undone before it arrived; counted."""
        if not self._connection.execute("SELECT 1 FROM tombstone WHERE key = ?", (key,)).fetchone():
            return False
        self._connection.execute("INSERT INTO refusal (at, key) VALUES (?, ?)", (at, key))
        return True

    def refusals(self) -> int:
        """How many arrivals were refused."""
        return int(self._connection.execute("SELECT count(*) FROM refusal").fetchone()[0])

    def bury(self, key: str, at: str, left_by: str) -> None:
        """Keep an effect from ever happening under the key; `left_by` is the key of the undo."""
        self._connection.execute("INSERT OR IGNORE INTO tombstone VALUES (?, ?, ?)", (key, at, left_by))

    def enter(
        self, key: str, action: str, order_id: str, details: object, *, at: str, undoes: str | None = None
    ) -> int:
        """Write down an effect; its number. Raises sqlite3.IntegrityError for a key that has one."""
        cursor = self._connection.execute(
            "INSERT INTO effect (at, key, action, order_id, details, undoes) VALUES (?, ?, ?, ?, ?, ?)",
            (at, key, action, order_id, msgspec.json.encode(details).decode(), undoes),
        )
        assert cursor.lastrowid is not None, "an INSERT has a row id"
        return cursor.lastrowid

    def effect(self, key: str) -> Effect | None:
        """The effect under the key."""
        row = self._connection.execute(f"SELECT {FIELDS} FROM effect WHERE key = ?", (key,)).fetchone()
        return None if row is None else _effect(row)

    def is_taken_back(self, key: str) -> bool:
        """Whether another effect undoes that of the key."""
        return self._connection.execute("SELECT 1 FROM effect WHERE undoes = ?", (key,)).fetchone() is not None

    def effects(self) -> list[Effect]:
        """Every effect, oldest first."""
        return [_effect(row) for row in self._connection.execute(f"SELECT {FIELDS} FROM effect ORDER BY number")]


def _effect(row: tuple[Any, ...] | sqlite3.Row) -> Effect:
    number, at, key, action, order_id, details, undoes = row
    return Effect(
        number=number,
        at=at,
        key=key,
        action=action,
        order_id=order_id,
        details=msgspec.json.decode(details),
        undoes=undoes,
    )
