"""Batches on the rows: started, steered, and carried out piece by piece, each piece with its cursor in one commit."""

from __future__ import annotations

from stepward.errors import BatchNotFound, Refused
from stepward.model.records import Task
from stepward.store import rows
from stepward.store.contract import Batch, BatchPiece, BatchState, BatchVerb, FoundTasks
from stepward.store.rules import batches as rules
from stepward.store.rules.audit import audited_acts
from stepward.store.search.dialect import SearchDialect
from stepward.store.search.statements import still_fulfilling
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs import connection as ask
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.deletion import task_erasure
from stepward.store.verbs.engine import VerbPart
from stepward.store.verbs.key_uses import has_arriving_shard
from stepward.store.verbs.tasks import directives, inbox


class BatchVerbs(VerbPart):
    """Implements ``BatchStore``."""

    async def start_batch(self, batch: Batch) -> None:
        await self._transactions.write(start, batch, self._clock.now())
        self._ring()

    async def has_arriving_shard(self) -> bool:
        return await self._transactions.read(has_arriving_shard)

    async def batches(self, limit: int) -> list[Batch]:
        return [rows.batch(row) for row in await self._transactions.read(ask.rows, "batches.listed", limit)]

    async def batch(self, id: str) -> Batch | None:
        return await self._transactions.read(one, id)

    async def steer_batch(self, id: str, act: str, actor: str, rate: float | None = None) -> Batch:
        steered = await self._transactions.write(steer, id, act, actor, rate, self._clock.now())
        self._ring()
        return steered


async def start(connection: VerbConnection, batch: Batch, now: float) -> None:
    """Keep a new batch."""
    await connection.change("batches.add", *rows.batch_values(batch))
    await alerts_and_audit.write_audits(connection, [audited_acts.batch_start_audit(batch)], now)


async def one(connection: VerbConnection, id: str) -> Batch | None:
    """The batch of that id."""
    row = await connection.row("batches.one", id)
    return None if row is None else rows.batch(row)


async def steer(connection: VerbConnection, id: str, act: str, actor: str, rate: float | None, now: float) -> Batch:
    """Change its state or its rate."""
    row = await connection.row("batches.lock", id)
    if row is None:
        raise BatchNotFound(f"batch {id[:100]!r}: expected one that was started, found none such; look at the list")
    batch = rules.steered(rows.batch(row), act, now, rate)
    await _write(connection, batch)
    await alerts_and_audit.write_audits(connection, [audited_acts.batch_audit(batch, act, actor)], now)
    return batch


async def advance(
    connection: VerbConnection, dialect: SearchDialect, batch: Batch, found: FoundTasks, now: float
) -> BatchPiece | None:
    """Ask those of the tasks that still fulfil the batch's condition, and move the cursor behind all of them."""
    row = await connection.row("batches.lock", batch.id)
    if row is None:
        return None
    current = rows.batch(row)
    if current.state is not BatchState.RUNNING or current.cursor_uid != batch.cursor_uid:
        return None
    if current.parameters.is_sealed:
        return None
    uids = [task.uid for task in found.tasks]
    locked = await inbox.lock(connection, uids)
    wanted = await _still_wanted(connection, dialect, current, uids)
    after = current
    for uid in uids:
        if uid in wanted and uid in locked:
            after = await _ask(connection, after, locked[uid], now)
    acts = after.done + after.refused - current.done - current.refused
    after = rules.gone_through(rules.paid(after, acts, now), found, now)
    await _write(connection, after)
    if after.state is BatchState.DONE:
        await alerts_and_audit.write_audits(connection, [audited_acts.batch_audit(after, "finish", after.actor)], now)
    return BatchPiece(after, acts)


async def _still_wanted(connection: VerbConnection, dialect: SearchDialect, batch: Batch, uids: list[str]) -> set[str]:
    """They were found before they were locked: what has changed meanwhile may be none of the batch's any more."""
    if not uids:
        return set()
    statement = still_fulfilling(dialect, rules.condition_of_batch(batch), uids)
    return {row[0] for row in await connection.fetched(statement.sql, *statement.values)}


async def _ask(connection: VerbConnection, batch: Batch, task: Task, now: float) -> Batch:
    """The directive as a single one goes, for itself: a task that refuses keeps no other from it."""
    try:
        async with connection.savepoint():
            if batch.verb is BatchVerb.DELETE:
                await task_erasure.erase(connection, task, batch, now)
            else:
                await directives.direct(connection, task, rules.directive_of(batch, now), now)
    except Refused as error:
        return rules.refused_by(batch, task.id, str(error))
    return rules.succeeded(batch)


async def _write(connection: VerbConnection, batch: Batch) -> None:
    values = rows.batch_values(batch)
    await connection.change("batches.write", *(values[place] for place in rows.BATCH_WRITTEN))
