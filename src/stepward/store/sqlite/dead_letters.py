"""Dead letters on the rows: listed, put back and thrown away by operators, each act audited."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.records import DeadLetter
from stepward.store import rows
from stepward.store.queries import load_queries
from stepward.store.rules.verdicts import dead_letter_audit
from stepward.store.sqlite import journal
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.rows import FRAGMENTS

Q = load_queries(__package__, "messages.sql", FRAGMENTS)


def listed(connection: Connection, limit: int) -> list[DeadLetter]:
    """The newest dead letters."""
    return [rows.dead_letter(row) for row in connection.rows(Q["dead_letters"], (limit,))]


def put_back(connection: Connection, numbers: Sequence[int], actor: str, now: float) -> list[int]:
    """Put them into their queues again, as new; those that were there."""
    for number in dict.fromkeys(numbers):
        connection.change(Q["put_back"], (number,))
    return _remove(connection, "put_back", numbers, actor, now)


def discard(connection: Connection, numbers: Sequence[int], actor: str, now: float) -> list[int]:
    """Throw them away; those that were there."""
    return _remove(connection, "discard", numbers, actor, now)


def _remove(connection: Connection, act: str, numbers: Sequence[int], actor: str, now: float) -> list[int]:
    removed = [(number, row[0]) for number in numbers if (row := connection.row(Q["discard"], (number,)))]
    audits = [dead_letter_audit(actor, act, number, queue) for number, queue in removed]
    journal.write_audits(connection, audits, now)
    return [number for number, _ in removed]
