"""Retention, for Supervisors and operators: reads old tasks, acts and alerts in bounded pages, and deletes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from stepward.model.records import Alert, Audit, InboxRow, Step, Task
from stepward.store.contract.values.updates import UpdateRow
from stepward.store.contract.values.written_rows import StreamRow, WrittenRow
from stepward.store.search.conditions import Condition
from stepward.store.search.statements import TaskKey

PAGE_ROWS = 1_000
PAGE_BYTES = 4 * 1024 * 1024
"""Most bytes of a page; a single row may be larger."""
BATCH_ROWS = 5_000
BATCH_BYTES = 64 * 1024 * 1024
"""About the most bytes that one transaction deletes; a larger task is deleted in several."""


class Outlived(Struct, frozen=True):
    """A task that ended long ago, as it was read; its deletion compares both fields."""

    uid: str
    finished_at: float


class SignalSeen(Struct, frozen=True):
    """The id of a signal that a task received."""

    task: str
    name: str
    id: str


class OutlivedPage(Struct, frozen=True):
    """Tasks that ended long ago, of a search."""

    tasks: list[Outlived]
    after: TaskKey | None
    """The task behind which the search goes on; None where nothing is left."""


class Purged(Struct, frozen=True):
    """The result of a deletion."""

    tasks: int
    more: bool
    """Whether rows of the tasks are left for the next deletion."""


class RetentionStore(Protocol):
    """Reads of old tasks before they are deleted. Each page begins after a position; an empty page is the end."""

    async def outlived(self, before: float, limit: int) -> list[Outlived]:
        """Tasks that ended (other than in error) before ``before``, oldest first, about as many as one transaction
        should delete.

        A child is kept while the undo of its parent may need it.
        """
        ...

    async def outlived_tasks(self, uids: Sequence[str], after: str) -> list[Task]:
        """Those of the tasks that exist, by uid."""
        ...

    async def outlived_steps(self, uids: Sequence[str], after: tuple[str, int, int]) -> list[Step]:
        """Their steps, by task, run and number."""
        ...

    async def outlived_inbox(self, uids: Sequence[str], after: tuple[str, int]) -> list[InboxRow]:
        """Their inbox rows that were never taken, by task and number."""
        ...

    async def outlived_signals(self, uids: Sequence[str], after: tuple[str, str, str]) -> list[SignalSeen]:
        """The ids of their signals, by task, name and id."""
        ...

    async def outlived_values(self, uids: Sequence[str], after: tuple[str, str]) -> list[WrittenRow]:
        """Their published values, by task and name."""
        ...

    async def outlived_streams(self, uids: Sequence[str], after: tuple[str, str, int]) -> list[StreamRow]:
        """The values of their streams, by task, name and position."""
        ...

    async def outlived_updates(self, uids: Sequence[str], after: tuple[str, str]) -> list[UpdateRow]:
        """The updates that they were asked for, by task and id."""
        ...

    async def unchanged(self, batch: Sequence[Outlived]) -> bool:
        """Whether all of them are as they were read, so that what was read of them meanwhile is consistent."""
        ...


class RuledRetentionStore(RetentionStore, Protocol):
    """The same by a condition, for rules about workflows and states."""

    async def outlived_where(self, condition: Condition, after: TaskKey | None, limit: int) -> OutlivedPage:
        """Tasks that ended (other than in error) and fulfil a condition, in the order of their submission.

        A page may be empty before the end. A child is kept while undo of its parent may need it.
        """
        ...


class AuditedAct(Struct, frozen=True):
    """An act of the audit with its hash, which depends on the act before it."""

    audit: Audit
    hash: bytes


class AuditHead(Struct, frozen=True):
    """An act by its number and hash: kept outside the store, it shows later that all acts up to it are still there."""

    number: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.number}:{self.hash.hex()}"


class OldRecords(Struct, frozen=True):
    """The records that one transaction prunes: acts from the first on without a gap, and acknowledged alerts."""

    acts: Sequence[AuditedAct]
    alerts: Sequence[Alert]
    head: AuditHead | None = None
    """The newest act of the whole audit when they were read; None where there is none."""


class PruningStore(Protocol):
    """Reads of the audit and the alerts before they are pruned; bounded in rows and bytes."""

    async def old_records(self, before: float) -> OldRecords:
        """The first acts of the audit, and the acknowledged alerts, that are older than ``before``; oldest first."""
        ...
