"""The erasure of what an archive has of deleted tasks: which tasks, and the acts that record it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stepward.store.contract import AuditedAct, ErasedTask
from stepward.store.rules import erasure
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs import connection as ask
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.engine import VerbPart


class ArchiveErasureVerbs(VerbPart):
    """Implements ``ArchiveErasureStore`` but for what needs a term."""

    async def use_archive(self) -> None:
        await self._transactions.single(ask.change, "erasure.use_archive")

    async def erased_tasks(self, limit: int) -> list[ErasedTask]:
        found = await self._transactions.read(ask.rows, "erasure.erased", limit)
        return [ErasedTask(uid, *msgspec.json.decode(note, type=tuple[str, str])) for uid, note in found]

    async def forget_erased(self, uids: Sequence[str]) -> None:
        await self._transactions.single(ask.change, "erasure.forget_erased", list(uids))


async def record_erasure(connection: VerbConnection, task: ErasedTask, acts: Sequence[AuditedAct], now: float) -> bool:
    """Appends the acts that record the erasure of archived details."""
    await alerts_and_audit.write_audits(connection, erasure.archived_audits(task, acts), now)
    return True
