"""A Scheduler's turn on the rows: one statement if that will do, else one after the other, or each change alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import asyncpg

from stepward.store.contract import Change
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.error_translation import MISSED
from stepward.store.postgres.engine.query_catalogue import load_catalogue, quoted
from stepward.store.postgres.hot.turn_statements import TurnPart, overlap, parts_of
from stepward.store.rules.change_conflicts import Missed
from stepward.store.rules.refusals import fenced
from stepward.store.verbs.tasks import inbox, turns

PLACE = re.compile(r"\$(\d+)")
STATEMENTS_KEPT = 512
PROOF = "the instance lives"
WHEN = "when (select count(*) from part_{part}) <> ${rows}::bigint then {schema}.miss('{part}')"


def proof(instance: str, renew: float | None, now: float) -> TurnPart:
    """Every commit proves in itself that its instance still lives; a renewal proves it in passing."""
    if renew is None:
        return TurnPart("turn.fence", [instance], 1, PROOF)
    return TurnPart("leases.renew", [[instance], now, renew, [None], [None], None, [None]], 1, PROOF)


def is_one_statement(changes: Sequence[Change]) -> bool:
    """Whether the changes commit in one statement: nothing is read on the way, and no row is met twice."""
    return not any(change.posts or change.audits or change.fits for change in changes) and not overlap(changes)


async def apply_at_once(connection: Connection, parts: Sequence[TurnPart]) -> float:
    """Apply parts in one statement, wholly or not at all; what the server's clock showed.

    Raises Missed with the reason of the first part that does not apply.
    """
    text = _composed(connection.schema, tuple((part.query, part.rows is not None) for part in parts))
    values = [value for part in parts for value in _counted(part, connection.sent(part.query, part.values))]
    try:
        ((clock,),) = await connection.fetched(text, *values)
    except asyncpg.PostgresError as error:
        if error.sqlstate != MISSED:
            raise
        raise Missed(parts[int(str(error))].reason) from None
    shown: float = clock
    return shown


async def apply(connection: Connection, instance: str, changes: Sequence[Change], now: float) -> None:
    """Within a transaction: apply changes by kind; raises Missed, or what the server raises, with some applied."""
    posts = [post for change in changes for post in change.posts]
    if posts:
        moved = {change.task for change in changes if change.move is not None}
        await inbox.lock(connection, inbox.concerned(posts) | moved)
    parts = parts_of(instance, changes, now)
    if overlap(changes):
        await _apply_in_order(connection, parts)
    elif parts:
        await apply_at_once(connection, parts)
    await turns.write_others(connection, changes, now)


async def prove(connection: Connection, instance: str, renew: float | None, now: float) -> None:
    """Within a transaction: the instance lives, and goes on living until the transaction ends."""
    part = proof(instance, renew, now)
    if not await connection.rows(part.query, *part.values):
        raise fenced(instance)


async def _apply_in_order(connection: Connection, parts: Sequence[TurnPart]) -> None:
    for part in parts:
        count = await connection.change(part.query, *part.values)
        if part.rows is not None and count != part.rows:
            raise Missed(part.reason)


def _counted(part: TurnPart, values: Sequence[object]) -> Sequence[object]:
    return values if part.rows is None else [*values, part.rows]


@lru_cache(maxsize=STATEMENTS_KEPT)
def _composed(schema: str, parts: tuple[tuple[str, bool], ...]) -> str:
    """One statement of all parts; those that are counted raise when another number of rows than theirs was found.

    CASE looks at its conditions one after the other, and each has its part done: locks are taken in the parts' order.
    """
    book = load_catalogue(schema)
    bodies, conditions, used = list[str](), list[str](), 0
    for number, (query, is_counted) in enumerate(parts):
        body = book[query]
        bodies.append(f"part_{number} as (\n{_shifted(body, used)})")
        used += _most(body)
        if is_counted:
            used += 1
            conditions.append(WHEN.format(part=number, rows=used, schema=quoted(schema)))
    shown = "extract(epoch from clock_timestamp())::float8"
    case = "case\n    " + "\n    ".join([*conditions, f"else {shown}"]) + "\nend" if conditions else shown
    return f"with {', '.join(bodies)}\nselect {case}"


def _shifted(sql: str, by: int) -> str:
    return PLACE.sub(lambda match: f"${int(match[1]) + by}", sql)


def _most(sql: str) -> int:
    return max((int(place) for place in PLACE.findall(sql)), default=0)
