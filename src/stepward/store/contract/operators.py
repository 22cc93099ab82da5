"""The operators' part of the store: reads of everything, and acts that are audited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stepward.model.agents import AgentStanding
from stepward.model.records import Alert, Audit, DeadLetter, Instance, Task
from stepward.model.schedule import Schedule
from stepward.store.contract.by_subject.alerts import AlertSinkStore
from stepward.store.contract.by_subject.batches import BatchStore
from stepward.store.contract.by_subject.credentials import CredentialStore
from stepward.store.contract.by_subject.key_uses import KeyUseStore
from stepward.store.contract.by_subject.limits import LimitStore
from stepward.store.contract.by_subject.overview import OverviewStore
from stepward.store.contract.by_subject.retention import (
    AuditedAct,
    AuditHead,
    OldRecords,
    Outlived,
    PruningStore,
    Purged,
    RuledRetentionStore,
)
from stepward.store.contract.by_subject.webhooks import WebhookStore
from stepward.store.contract.values.gauges import StoreGauges
from stepward.store.contract.values.search import FoundTasks, TaskCount, TaskSearch
from stepward.store.search.conditions import Condition


class OperatorStore(
    OverviewStore,
    RuledRetentionStore,
    PruningStore,
    CredentialStore,
    BatchStore,
    KeyUseStore,
    AlertSinkStore,
    WebhookStore,
    LimitStore,
    Protocol,
):
    """The verbs of operators."""

    def now(self) -> float:
        """The store's clock."""
        ...

    async def tasks(self, search: TaskSearch) -> FoundTasks:
        """A page of tasks without their payloads; it may be short of its limit, or empty, before the end."""
        ...

    async def count(self, condition: Condition) -> TaskCount:
        """The number of tasks that fulfil a condition: exact where there are few, else an estimate."""
        ...

    async def instances(self) -> list[Instance]:
        """Live instances, and those that died less than an hour ago."""
        ...

    async def drain_instance(self, id: str, actor: str) -> bool:
        """Asks the process of a live instance to end in good order; False if there is none, or it was asked."""
        ...

    async def gauges(self) -> StoreGauges:
        """What metrics show of the store, by one short read."""
        ...

    async def alerts(self, limit: int, open_only: bool) -> list[Alert]:
        """Alerts, newest first."""
        ...

    async def task_alerts(self, id: str, limit: int, open_only: bool) -> list[Alert]:
        """The alerts of the task with that id, newest first."""
        ...

    async def alerts_of(
        self, condition: Condition, limit: int, open_only: bool, number: int | None = None
    ) -> list[Alert]:
        """The alerts of the tasks that fulfil a condition, newest first; only that of a number if one is given."""
        ...

    async def acknowledge(self, number: int, actor: str) -> bool:
        """Acknowledges an alert in the name of ``actor``."""
        ...

    async def purge_ended(self, batch: Sequence[Outlived], before: float, actor: str) -> Purged:
        """Deletes those of the tasks that are as they were read; ``actor`` asked for all that ended before
        ``before``."""
        ...

    async def prune_as(self, records: OldRecords, actor: str) -> int:
        """The same as ``SupervisorStore.prune``, as ``actor``."""
        ...

    async def acts(self, after: int) -> list[AuditedAct]:
        """A page of the audit after the act with that number, oldest first, with the hashes; an empty page is the
        end."""
        ...

    async def audit_head(self) -> AuditHead | None:
        """The newest act of the audit; None while there is none."""
        ...

    async def audits(self, id: str | None, limit: int) -> list[Audit]:
        """The audit of a task, or of all, newest first."""
        ...

    async def schedules(self) -> list[Schedule]:
        """All schedules, by name."""
        ...

    async def schedule(self, name: str) -> Schedule | None:
        """The schedule of that name."""
        ...

    async def create_schedule(self, schedule: Schedule, actor: str) -> bool:
        """Inserts a schedule; False if its name is taken."""
        ...

    async def start_scheduled(self, schedule: Schedule, tasks: Sequence[Task], act: str, actor: str) -> list[str]:
        """Inserts tasks of a schedule beside its nominal times to come; returns the ids of those that are new. ``act``
        is ``trigger`` or ``backfill``."""
        ...

    async def pause_schedule(self, name: str, actor: str) -> bool:
        """Pauses a schedule; False if it does not exist or is paused."""
        ...

    async def resume_schedule(self, name: str, next_at: float | None, actor: str) -> bool:
        """Resumes a schedule from ``next_at`` on; False if no paused one has that name."""
        ...

    async def remove_schedule(self, name: str, actor: str) -> bool:
        """Removes a schedule; False if it does not exist."""
        ...

    async def standings(self) -> list[AgentStanding]:
        """The state of each Agent that was ever served, by name."""
        ...

    async def suspend_agent(self, name: str, note: str | None, actor: str) -> bool:
        """Suspends an Agent: it gets no window; False if it does not exist or is suspended."""
        ...

    async def resume_agent(self, name: str, actor: str) -> bool:
        """Ends the suspension, and closes the breaker if no live instance of a Python process could probe; False if
        neither applied."""
        ...

    async def dead_letters(self, limit: int) -> list[DeadLetter]:
        """Messages that could not be processed, newest first."""
        ...

    async def put_back(self, numbers: Sequence[int], actor: str) -> list[int]:
        """Puts dead letters back into their queues as new messages; returns the numbers that existed."""
        ...

    async def discard(self, numbers: Sequence[int], actor: str) -> list[int]:
        """Deletes dead letters; returns the numbers that existed."""
        ...
