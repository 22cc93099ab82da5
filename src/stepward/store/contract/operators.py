"""The part of the store that operators have: looking at everything, and acts that are audited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stepward.model.agents import AgentStanding
from stepward.model.records import Alert, Audit, DeadLetter, Instance, Schedule
from stepward.store.contract.credentials import CredentialStore
from stepward.store.contract.overview import OverviewStore
from stepward.store.contract.retention import (
    AuditedAct,
    AuditHead,
    OldRecords,
    Outlived,
    PruningStore,
    Purged,
    RetentionStore,
)
from stepward.store.contract.values.gauges import StoreGauges
from stepward.store.contract.values.search import FoundTasks, TaskCount, TaskSearch
from stepward.store.search.conditions import Condition


class OperatorStore(OverviewStore, RetentionStore, PruningStore, CredentialStore, Protocol):
    """What operators may do."""

    def now(self) -> float:
        """The store's clock."""
        ...

    async def tasks(self, search: TaskSearch) -> FoundTasks:
        """A page of tasks without their payloads; it may be short of its limit, or empty, before the end."""
        ...

    async def count(self, condition: Condition) -> TaskCount:
        """How many tasks fulfil a condition: exact where there are few, else an estimate."""
        ...

    async def instances(self) -> list[Instance]:
        """Instances alive, and those dead for less than an hour."""
        ...

    async def gauges(self) -> StoreGauges:
        """The numbers that metrics show, by one short read."""
        ...

    async def alerts(self, limit: int, open_only: bool) -> list[Alert]:
        """Alerts, newest first."""
        ...

    async def acknowledge(self, number: int, actor: str) -> bool:
        """Mark an alert as seen by ``actor``."""
        ...

    async def purge_ended(self, batch: Sequence[Outlived], before: float, actor: str) -> Purged:
        """Delete those of the tasks that stand as they were read, as ``actor``, who asked for all that ended before
        ``before``."""
        ...

    async def prune_as(self, records: OldRecords, actor: str) -> int:
        """The same as ``SupervisorStore.prune``, as ``actor``."""
        ...

    async def acts(self, after: int) -> list[AuditedAct]:
        """A page of the audit behind the act of that number, oldest first, with the hashes; an empty one is the end."""
        ...

    async def audit_head(self) -> AuditHead | None:
        """The newest act of the audit; None while there is none."""
        ...

    async def audits(self, id: str | None, limit: int) -> list[Audit]:
        """The audit of a task, or of all, newest first."""
        ...

    async def schedules(self) -> list[Schedule]:
        """All recurring tasks, by name."""
        ...

    async def pause_schedule(self, name: str, actor: str) -> bool:
        """Fire that recurring task no more; False if there is none of that name, or it is paused already."""
        ...

    async def resume_schedule(self, name: str, next_at: float | None, actor: str) -> bool:
        """Fire that recurring task again, from ``next_at`` on; False if there is none such that is paused."""
        ...

    async def remove_schedule(self, name: str, actor: str) -> bool:
        """Forget that recurring task; False if there is none of that name."""
        ...

    async def standings(self) -> list[AgentStanding]:
        """How each Agent that was ever served stands, by name."""
        ...

    async def suspend_agent(self, name: str, note: str | None, actor: str) -> bool:
        """Have Schedulers give that Agent no room; False if there is none of that name, or it is suspended already."""
        ...

    async def resume_agent(self, name: str, actor: str) -> bool:
        """Give it room again, and close its breaker where no live instance of a process of ours could probe; False if
        there was neither to be done."""
        ...

    async def dead_letters(self, limit: int) -> list[DeadLetter]:
        """Messages that nobody could use, newest first."""
        ...

    async def put_back(self, numbers: Sequence[int], actor: str) -> list[int]:
        """Put dead letters back into their queues, as new; the numbers of those that were there."""
        ...

    async def discard(self, numbers: Sequence[int], actor: str) -> list[int]:
        """Throw dead letters away; the numbers of those that were there."""
        ...
