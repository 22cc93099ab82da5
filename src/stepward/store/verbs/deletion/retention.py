"""Reads and deletes tasks that ended, with all their rows; audits and alerts stay."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.records import InboxRow, Step, Task
from stepward.store import rows
from stepward.store.contract import (
    OldRecords,
    Outlived,
    OutlivedPage,
    Purged,
    SignalSeen,
    StreamRow,
    TaskSearch,
    UpdateRow,
    WrittenRow,
)
from stepward.store.contract.by_subject.retention import BATCH_BYTES, BATCH_ROWS, PAGE_BYTES, PAGE_ROWS
from stepward.store.contract.values.updates import update_row
from stepward.store.rules import deletion_bounds
from stepward.store.search.conditions import Condition
from stepward.store.search.statements import TaskKey
from stepward.store.verbs import connection as ask
from stepward.store.verbs.connection import VerbConnection, VerbRow
from stepward.store.verbs.deletion import audit_pruning
from stepward.store.verbs.deletion.large_payload_objects import note_deleted
from stepward.store.verbs.engine import VerbPart
from stepward.store.verbs.tasks.search_and_count import found_tasks

PARTS: dict[str, tuple[int, ...]] = {
    "retention.purge_steps": (BATCH_ROWS, BATCH_BYTES),
    "retention.purge_inbox": (BATCH_ROWS, BATCH_BYTES),
    "retention.purge_signals": (BATCH_ROWS,),
    "retention.purge_values": (BATCH_ROWS, BATCH_BYTES),
    "retention.purge_streams": (BATCH_ROWS, BATCH_BYTES),
    "retention.purge_updates": (BATCH_ROWS, BATCH_BYTES),
    "retention.purge_joined": (BATCH_ROWS,),
}
"""The tables that are deleted with a task, and the bounds of one deletion."""


class RetentionVerbs(VerbPart):
    """Implements ``RetentionStore``."""

    async def outlived(self, before: float, limit: int) -> list[Outlived]:
        return deletion_bounds.purge_batch(await self._rows("retention.outlived", before, limit, BATCH_ROWS))

    async def outlived_where(self, condition: Condition, after: TaskKey | None, limit: int) -> OutlivedPage:
        search = TaskSearch(condition=condition, newest_first=False, limit=limit, after=after)
        found = await self._transactions.read_beside(found_tasks, self._dialect, search)
        ended = [Outlived(task.uid, task.finished_at) for task in found.tasks if task.finished_at is not None]
        return OutlivedPage(await self._transactions.read(_standing, "retention.standing", ended), found.after)

    async def outlived_tasks(self, uids: Sequence[str], after: str) -> list[Task]:
        found = await self._rows("retention.tasks", list(uids), after, PAGE_ROWS, PAGE_BYTES)
        return [rows.task(row) for row in found]

    async def outlived_steps(self, uids: Sequence[str], after: tuple[str, int, int]) -> list[Step]:
        found = await self._rows("retention.steps", list(uids), *after, PAGE_ROWS, PAGE_BYTES)
        return [rows.step(row) for row in found]

    async def outlived_inbox(self, uids: Sequence[str], after: tuple[str, int]) -> list[InboxRow]:
        found = await self._rows("retention.inbox", list(uids), *after, PAGE_ROWS, PAGE_BYTES)
        return [rows.inbox_row(row) for row in found]

    async def outlived_signals(self, uids: Sequence[str], after: tuple[str, str, str]) -> list[SignalSeen]:
        return [SignalSeen(*row) for row in await self._rows("retention.signals", list(uids), *after, PAGE_ROWS)]

    async def outlived_values(self, uids: Sequence[str], after: tuple[str, str]) -> list[WrittenRow]:
        found = await self._rows("retention.values", list(uids), *after, PAGE_ROWS, PAGE_BYTES)
        return [WrittenRow(*row) for row in found]

    async def outlived_streams(self, uids: Sequence[str], after: tuple[str, str, int]) -> list[StreamRow]:
        found = await self._rows("retention.streams", list(uids), *after, PAGE_ROWS, PAGE_BYTES)
        return [StreamRow(*row) for row in found]

    async def outlived_updates(self, uids: Sequence[str], after: tuple[str, str]) -> list[UpdateRow]:
        found = await self._rows("retention.updates", list(uids), *after, PAGE_ROWS, PAGE_BYTES)
        return [update_row(row) for row in found]

    async def old_records(self, before: float) -> OldRecords:
        return await self._transactions.read_more(audit_pruning.old_records, before)

    async def unchanged(self, batch: Sequence[Outlived]) -> bool:
        return await self._transactions.read(_standing, "retention.standing", batch) == list(batch)

    async def _rows(self, query: str, *values: object) -> list[VerbRow]:
        return await self._transactions.read(ask.rows, query, *values)


async def purge(connection: VerbConnection, batch: Sequence[Outlived]) -> Purged:
    """Deletes those of the tasks that are as they were read, and the rest of those deleted before."""
    uids = [each.uid for each in await _standing(connection, "retention.lock_standing", batch)]
    left = [row[0] for row in await connection.rows("retention.leftovers", BATCH_ROWS)]
    if not uids and not left:
        return Purged(tasks=0, more=False)
    return Purged(tasks=len(uids), more=await delete_rows(connection, uids, left))


async def delete_rows(connection: VerbConnection, uids: Sequence[str], left: Sequence[str] = ()) -> bool:
    """Deletes tasks with all their rows, and those of the tasks ``left``, which are deleted already.

    Returns whether some of these rows are left for the next deletion.
    """
    await connection.change("retention.purge_tasks", list(uids))
    await connection.change("retention.forget_keys", list(uids))
    await note_deleted(connection, uids)
    wanted = [*left, *uids]
    for name, bounds in PARTS.items():
        await connection.change(name, wanted, *bounds)
    ((is_left,),) = await connection.rows("retention.is_left", wanted)
    await connection.change(f"retention.{'note' if is_left else 'forget'}_leftovers", wanted)
    return bool(is_left)


async def _standing(connection: VerbConnection, query: str, batch: Sequence[Outlived]) -> list[Outlived]:
    """Those of the tasks that are as they were read."""
    found = {Outlived(*row) for row in await connection.rows(query, [each.uid for each in batch])}
    return [each for each in batch if each in found]
