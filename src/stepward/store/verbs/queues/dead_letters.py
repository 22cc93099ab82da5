"""The verbs on dead letters: they are written, listed, put back and discarded, each act audited."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.records import DeadLetter
from stepward.model.tasks.control_characters import without_nul
from stepward.store import rows
from stepward.store.rules import dead_letter_limits
from stepward.store.rules.audit import audited_acts
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.connection import VerbConnection, VerbRow
from stepward.store.verbs.tasks import status_events

FORGET_LIMIT = 5_000
"""Most dead letters, and most messages of each queue, that one transaction reads."""


async def listed(connection: VerbConnection, limit: int) -> list[DeadLetter]:
    """The newest dead letters."""
    return [rows.dead_letter(row) for row in await connection.rows("messages.dead_letters", limit)]


async def put_back(connection: VerbConnection, numbers: Sequence[int], actor: str, now: float) -> list[int]:
    """Puts dead letters back into their queues as new messages; returns those that existed."""
    taken = await _taken(connection, numbers)
    for _, queue, body in taken:
        await connection.change_each("status_events.put", [(queue, body)], None)
    return await _audited(connection, "put_back", taken, actor, now)


async def discard(connection: VerbConnection, numbers: Sequence[int], actor: str, now: float) -> list[int]:
    """Deletes dead letters; returns those that existed."""
    return await _audited(connection, "discard", await _taken(connection, numbers), actor, now)


async def _taken(connection: VerbConnection, numbers: Sequence[int]) -> list[VerbRow]:
    """Deletes and returns the letters in the requested order."""
    found = {row[0]: row for row in await connection.rows("messages.take_letters", list(numbers))}
    return [found[number] for number in dict.fromkeys(numbers) if number in found]


async def _audited(connection: VerbConnection, act: str, taken: Sequence[VerbRow], actor: str, now: float) -> list[int]:
    acts = [audited_acts.dead_letter_audit(actor, act, number, queue) for number, queue, _ in taken]
    await alerts_and_audit.write_audits(connection, acts, now)
    return [row[0] for row in taken]


async def forget_expired(connection: VerbConnection, now: float) -> None:
    """Deletes expired messages among the oldest, in queues without a consumer, and old dead letters."""
    await connection.change("messages.forget_letters", now - dead_letter_limits.DEAD_LETTERS_KEPT_SECONDS, FORGET_LIMIT)
    await connection.change("messages.forget_expired", now, FORGET_LIMIT)


async def bury(
    connection: VerbConnection,
    queue: str,
    letters: Sequence[tuple[int, str]],
    events: Sequence[tuple[str, bytes]],
    now: float,
) -> None:
    """Moves messages of a queue to the dead letters, by token and reason, and reports those that existed."""
    full = await _is_full(connection, queue)
    if not full:
        many = [(token, without_nul(reason)) for token, reason in letters]
        await connection.change_each("messages.bury", many, queue, now)
    if count := await connection.change_each("messages.delete", [(token,) for token, _ in letters], queue):
        await status_events.put(connection, events, now)
        await _alert(connection, queue, letters[0][1], now, count=count, dropped=count * full)


async def bury_bodies(
    connection: VerbConnection,
    queue: str,
    letters: Sequence[tuple[bytes, str, int]],
    events: Sequence[tuple[str, bytes]],
    now: float,
) -> None:
    """Inserts dead letters for messages of a broker: body, reason and tries."""
    full = await _is_full(connection, queue)
    if not full:
        many = [(body, without_nul(reason), tries) for body, reason, tries in letters]
        await connection.change_each("messages.bury_body", many, queue, now)
    await status_events.put(connection, events, now)
    await _alert(connection, queue, letters[0][1], now, count=len(letters), dropped=len(letters) * full)


async def _is_full(connection: VerbConnection, queue: str) -> bool:
    ((letters, letter_bytes),) = await connection.rows("messages.letters_of", queue)
    return dead_letter_limits.is_full(letters, letter_bytes)


async def _alert(connection: VerbConnection, queue: str, reason: str, now: float, *, count: int, dropped: int) -> None:
    known = await connection.row("messages.open_alert", queue)
    before = b"{}" if known is None else known[1]
    alert = dead_letter_limits.dead_letter_alert(queue, reason, now, count=count, dropped=dropped, before=before)
    await alerts_and_audit.count_on(connection, known, alert, now)
