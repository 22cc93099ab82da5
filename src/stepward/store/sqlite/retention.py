"""Deleting tasks that ended, with all that is theirs, and reading them before; audits and alerts stay."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stepward.model.records import InboxRow, Step, Task
from stepward.store import rows
from stepward.store.contract import OldRecords, Outlived, Purged, SignalSeen
from stepward.store.contract.retention import BATCH_BYTES, BATCH_ROWS, PAGE_BYTES, PAGE_ROWS
from stepward.store.queries import load_queries
from stepward.store.rules import verdicts
from stepward.store.sqlite import pruning
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.database import Database
from stepward.store.sqlite.rows import FRAGMENTS

OWN = {
    "s_bytes": "length(s.input) + coalesce(length(s.output), 0) + coalesce(length(s.error), 0)",
    "parent_is_over": """(t.parent is null or not exists (
    select 1 from stepward_task as p where p.uid = t.parent and (p.finished_at is null or p.state = 'error')
        and exists (
            select 1 from stepward_step as b where b.task = p.uid and b.run = t.parent_run and b.kind = 'child')))""",
}
Q = load_queries(__package__, "retention.sql", {**FRAGMENTS, **OWN})

PARTS: dict[str, tuple[int, ...]] = {
    "purge_steps": (BATCH_ROWS, BATCH_BYTES),
    "purge_inbox": (BATCH_ROWS, BATCH_BYTES),
    "purge_signals": (BATCH_ROWS,),
}
"""What is deleted of a task beside its row, and its bounds."""


class SqliteRetention:
    """What is read of tasks before they are deleted; see ``RetentionStore``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def outlived(self, before: float, limit: int) -> list[Outlived]:
        found = await self._database.read(Connection.rows, Q["outlived"], (before, limit, BATCH_ROWS))
        return verdicts.batch(found)

    async def outlived_tasks(self, uids: Sequence[str], after: str) -> list[Task]:
        values = (_json(uids), after, PAGE_ROWS, PAGE_BYTES)
        return [rows.task(row) for row in await self._database.read(Connection.rows, Q["tasks"], values)]

    async def outlived_steps(self, uids: Sequence[str], after: tuple[str, int, int]) -> list[Step]:
        values = (_json(uids), *after, PAGE_ROWS, PAGE_BYTES)
        return [rows.step(row) for row in await self._database.read(Connection.rows, Q["steps"], values)]

    async def outlived_inbox(self, uids: Sequence[str], after: tuple[str, int]) -> list[InboxRow]:
        values = (_json(uids), *after, PAGE_ROWS, PAGE_BYTES)
        return [rows.inbox_row(row) for row in await self._database.read(Connection.rows, Q["inbox"], values)]

    async def outlived_signals(self, uids: Sequence[str], after: tuple[str, str, str]) -> list[SignalSeen]:
        values = (_json(uids), *after, PAGE_ROWS)
        return [SignalSeen(*row) for row in await self._database.read(Connection.rows, Q["signals"], values)]

    async def old_records(self, before: float) -> OldRecords:
        return await self._database.read(pruning.old_records, before)

    async def unchanged(self, batch: Sequence[Outlived]) -> bool:
        return await self._database.read(_standing, batch) == list(batch)


def purge(connection: Connection, batch: Sequence[Outlived]) -> Purged:
    """Delete those of the tasks that stand as they were read, and what is left of those deleted before."""
    uids = [each.uid for each in _standing(connection, batch)]
    left = [uid for (uid,) in connection.rows(Q["leftovers"], (BATCH_ROWS,))]
    if not uids and not left:
        return Purged(tasks=0, more=False)
    connection.change(Q["purge_tasks"], (_json(uids),))
    wanted = _json([*left, *uids])
    for name, bounds in PARTS.items():
        connection.change(Q[name], (wanted, *bounds))
    ((is_left,),) = connection.rows(Q["is_left"], (wanted,))
    connection.change(Q["note_leftovers" if is_left else "forget_leftovers"], (wanted,))
    return Purged(tasks=len(uids), more=is_left == 1)


def _standing(connection: Connection, batch: Sequence[Outlived]) -> list[Outlived]:
    """Those of the tasks that stand as they were read."""
    found = {Outlived(*row) for row in connection.rows(Q["standing"], (_json([each.uid for each in batch]),))}
    return [each for each in batch if each in found]


def _json(uids: Sequence[str]) -> str:
    return msgspec.json.encode(uids).decode()
