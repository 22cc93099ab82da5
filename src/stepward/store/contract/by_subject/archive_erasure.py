"""Tasks that were deleted on demand, for the erasure of what an archive has of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from stepward.store.contract.by_subject.retention import AuditedAct


class ErasedTask(Struct, frozen=True):
    """A deleted task: who deleted it, and in which batch."""

    uid: str
    actor: str
    batch: str


class ArchiveErasureStore(Protocol):
    """The verbs by which a deletion reaches an archive: the deletion notes its tasks in its commit."""

    async def use_archive(self) -> None:
        """Record that tasks are archived; from then on deletions note their tasks."""
        ...

    async def erased_tasks(self, limit: int) -> list[ErasedTask]:
        """Deleted tasks of which the archive may still have something."""
        ...

    async def erase_archived(self, term: int, task: ErasedTask, acts: Sequence[AuditedAct]) -> bool:
        """Record in the audit that the details of these archived acts are erased, before they are."""
        ...

    async def forget_erased(self, uids: Sequence[str]) -> None:
        """The archive has nothing of these tasks any more."""
        ...
