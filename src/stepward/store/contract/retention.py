"""Retention, for Supervisors and operators: old tasks, acts and alerts are read in bounded pages, then deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from stepward.model.records import Alert, Audit, InboxRow, Step, Task

PAGE_ROWS = 1_000
PAGE_BYTES = 4 * 1024 * 1024
"""The most that a page holds; a single row may be larger."""
BATCH_ROWS = 5_000
BATCH_BYTES = 64 * 1024 * 1024
"""About the most that one transaction deletes; a single task that is larger goes in pieces."""


class Outlived(Struct, frozen=True):
    """A task that ended long ago, as it was read; its deletion compares both."""

    uid: str
    finished_at: float


class SignalSeen(Struct, frozen=True):
    """The id of a signal that came for a task."""

    task: str
    name: str
    id: str


class Purged(Struct, frozen=True):
    """What a deletion did."""

    tasks: int
    more: bool
    """Something of them is left, which the next deletion goes on with."""


class RetentionStore(Protocol):
    """Reads of old tasks before they are deleted. Pages begin after a place, and an empty one is the end."""

    async def outlived(self, before: float, limit: int) -> list[Outlived]:
        """Tasks that ended (other than in error) before ``before``, oldest first, and about as many as one transaction
        should delete. A child is kept while undo of its parent may need it."""
        ...

    async def outlived_tasks(self, uids: Sequence[str], after: str) -> list[Task]:
        """Those of the tasks that are there, by uid."""
        ...

    async def outlived_steps(self, uids: Sequence[str], after: tuple[str, int, int]) -> list[Step]:
        """Their steps, by task, run and number."""
        ...

    async def outlived_inbox(self, uids: Sequence[str], after: tuple[str, int]) -> list[InboxRow]:
        """What came for them and was never taken, by task and number."""
        ...

    async def outlived_signals(self, uids: Sequence[str], after: tuple[str, str, str]) -> list[SignalSeen]:
        """The ids of their signals, by task, name and id."""
        ...

    async def unchanged(self, batch: Sequence[Outlived]) -> bool:
        """Whether all of them still stand as they were read: what was read of them meanwhile is whole then."""
        ...


class AuditedAct(Struct, frozen=True):
    """An act of the audit with its hash, which follows from the act before it."""

    audit: Audit
    hash: bytes


class AuditHead(Struct, frozen=True):
    """An act by its number and hash: kept outside the store, it shows later that all acts up to it are still there."""

    number: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.number}:{self.hash.hex()}"


class OldRecords(Struct, frozen=True):
    """What one transaction prunes: acts from the beginning of the audit without a gap, and acknowledged alerts."""

    acts: Sequence[AuditedAct]
    alerts: Sequence[Alert]
    head: AuditHead | None = None
    """The newest act of the whole audit when they were read; None where there is none."""


class PruningStore(Protocol):
    """What is read before the audit and the alerts are pruned; bounded in rows and bytes."""

    async def old_records(self, before: float) -> OldRecords:
        """The acts at the beginning of the audit, and the alerts acknowledged, before ``before``; oldest first."""
        ...
