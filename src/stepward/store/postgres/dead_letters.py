"""Dead letters on the rows: listed, put back and thrown away by operators, each act audited."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.store.postgres import journal
from stepward.store.postgres.connection import Connection, Row
from stepward.store.rules.verdicts import dead_letter_audit


async def put_back(connection: Connection, numbers: Sequence[int], actor: str, now: float) -> list[int]:
    """Put them into their queues again, as new; those that were there."""
    taken = await _taken(connection, numbers)
    for _, queue, body in taken:
        await connection.change("messages.put", queue, [body], [None])
    return await _audited(connection, "put_back", taken, actor, now)


async def discard(connection: Connection, numbers: Sequence[int], actor: str, now: float) -> list[int]:
    """Throw them away; those that were there."""
    return await _audited(connection, "discard", await _taken(connection, numbers), actor, now)


async def _taken(connection: Connection, numbers: Sequence[int]) -> list[Row]:
    """The letters in the order in which they were asked for; they are none any more."""
    found = {row[0]: row for row in await connection.rows("messages.take_letters", list(numbers))}
    return [found[number] for number in dict.fromkeys(numbers) if number in found]


async def _audited(connection: Connection, act: str, taken: Sequence[Row], actor: str, now: float) -> list[int]:
    audits = [dead_letter_audit(actor, act, number, queue) for number, queue, _ in taken]
    journal.write_audits(connection, audits, now)
    return [row[0] for row in taken]
