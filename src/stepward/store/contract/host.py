"""The host's part of the store: leases, registrations, the state of Agents, and change notifications."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from stepward.model.agents import NO_REPORTS, AgentStanding, Report
from stepward.model.limits.flow_limit import FlowLimit
from stepward.model.limits.slot_shares import SlotClaim, SlotLease
from stepward.model.messages.change_kinds import Kinds
from stepward.model.messages.signing import StoreIdentity
from stepward.model.records import Alert, Instance, Role, WorkflowRecord
from stepward.model.schedule import Schedule
from stepward.store.contract.values.partition_record import PartitionRecord


class HostStore(Protocol):
    """The verbs of the host of actors."""

    def now(self) -> float:
        """The store's clock."""
        ...

    def jumped(self) -> float:
        """The seconds, in all, by which the store's clock was found to have been set since the store was opened.

        A number that differs from the one before shows a jump; small differences are corrected and not counted.
        """
        ...

    async def check_rights(self, roles: Collection[Role]) -> None:
        """Raises StoreUnusable, which names the missing rights, if the store's user lacks a right that these roles
        need."""
        ...

    async def key_marks(self) -> dict[str, str]:
        """By id, each key with which payloads were ever encrypted, and a text that it sealed."""
        ...

    async def keep_key_mark(self, key: str, mark: str) -> None:
        """Note that payloads are encrypted with that key; the first mark of an id stays."""
        ...

    async def uses_large_payloads(self) -> bool:
        """Whether payloads of the store were ever kept outside it."""
        ...

    async def use_large_payloads(self) -> None:
        """Note that payloads of the store are kept outside it; from then on deletions record their tasks."""
        ...

    async def identity(self, fresh: StoreIdentity) -> StoreIdentity:
        """The identity of the store, which never changes; ``fresh`` is written where there is none yet."""
        ...

    async def partition(self) -> PartitionRecord | None:
        """The place of the store among several of the application; None for a store that is its only one."""
        ...

    async def keep_partition(self, record: PartitionRecord) -> PartitionRecord:
        """Writes the place of the store among several, unless it has one; returns the one that it has."""
        ...

    async def register(self, instance: Instance, lease: float) -> None:
        """Inserts an instance that is alive until now + lease.

        Open alerts of workflows or Agents that it serves are acknowledged in its name, and tasks that wait for code
        which matches their record become claimable if a Scheduler serves their workflow. Its Agents are recorded.
        """
        ...

    async def register_workflows(self, workflows: Sequence[WorkflowRecord]) -> None:
        """Records what this program declares of its workflows."""
        ...

    async def register_schedules(self, schedules: Sequence[Schedule]) -> None:
        """Records schedules; one whose cron expression and time zone are the same keeps its next nominal time and
        its pause."""
        ...

    async def renew(
        self,
        instances: Sequence[str],
        lease: float,
        reports: Mapping[str, Report] = NO_REPORTS,
        ahead: float | None = None,
    ) -> set[str]:
        """Extends the leases of a host's instances and writes their reports; returns the instances that are still
        alive.

        ``ahead``: seconds by which the host's wall clock is ahead of the store's; None if that is not known.
        """
        ...

    async def is_drained(self, instances: Sequence[str]) -> bool:
        """Whether an operator wants the process of one of these instances to end in good order."""
        ...

    async def retire(self, instance: str, *, in_order: bool = True) -> None:
        """Declares the instance dead; its tasks are released at once, without counting a failure.

        ``in_order``: whether it stops as requested, and not because of an error or a hang.
        """
        ...

    def break_off(self) -> bool:
        """Rolls back a transaction that is open here and keeps other writers waiting; returns whether there was one.

        For a thread that ends the process because its event loop hangs; this object cannot be used afterwards.
        """
        ...

    async def count_hang(self, task: str, sender: str, where: str) -> int | None:
        """Counts that the task's code blocked an event loop for a whole lease; returns the count, None if the task has
        ended or does not exist.

        From the second time on its inbox has a row that makes its owner fail it before any of its code runs.
        """
        ...

    async def warn(self, alert: Alert) -> None:
        """Inserts an alert about a queue, unless one of its kind with the same details is open."""
        ...

    async def end_warning(self, kind: str, details: bytes, sender: str) -> None:
        """Acknowledges the open alerts of that kind with these details, because their cause is gone."""
        ...

    async def standings(self) -> list[AgentStanding]:
        """The state of each Agent that was ever served, by name."""
        ...

    async def open_breaker(self, agent: str, instance: str, seconds: float) -> bool:
        """Opens an Agent's breaker for so many seconds; False, with nothing changed, if it was open and another
        instance probes."""
        ...

    async def grant_probe(self, agent: str, instance: str, seconds: float) -> bool:
        """Lets this instance alone probe the service within so many seconds; False before the probe is due."""
        ...

    async def close_breaker(self, agent: str, instance: str) -> bool:
        """Closes the breaker; False, with nothing changed, unless this instance probes."""
        ...

    async def declare_limits(self, declared: Sequence[FlowLimit], undeclared: Sequence[str]) -> None:
        """Records what code declares of limits, and that it declares none under the names in ``undeclared``; what an
        operator has set stays."""
        ...

    async def limits(self) -> list[FlowLimit]:
        """All limits, by name."""
        ...

    async def slots(self) -> list[SlotLease]:
        """The slots that instances of Agents have leased, dead ones included until their calls are over."""
        ...

    async def lease_slots(self, instance: str, claims: Sequence[SlotClaim]) -> dict[str, int | None]:
        """Leases slots under the limits of Agents; returns by Agent how many calls the instance may make at once, None
        where there is no limit.

        All slots of an Agent together never exceed its limit, but for calls that were under way when it was lowered. A
        dead instance gets none. A claim for ``most=0`` gives back what is not busy.
        """
        ...

    async def stirred(self, every: float) -> None:
        """Waits until ``changed`` is worth calling: for a notification, or ``every`` seconds where there are none."""
        ...

    def changed(self) -> Kinds:
        """What other connections may have changed in the store since the last call, 0 for nothing; it runs no
        statement."""
        ...
