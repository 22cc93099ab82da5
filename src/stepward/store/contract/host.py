"""What the host of actors needs of the store: leases, registrations, and word of changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from stepward.model.agents import NO_REPORTS, AgentStanding, Report
from stepward.model.messages.seal import StoreIdentity
from stepward.model.records import Alert, Instance, Role, Schedule, WorkflowRecord


class HostStore(Protocol):
    """What the host of actors needs."""

    def now(self) -> float:
        """The store's clock."""
        ...

    def jumped(self) -> float:
        """By how many seconds, all told, the store's clock was found set while it was followed.

        Another number than before tells of a jump; small differences are made up for and not counted.
        """
        ...

    async def check_rights(self, roles: Collection[Role]) -> None:
        """Raises StoreUnusable, and names what is missing, if the store's user lacks a right that these roles need."""
        ...

    async def identity(self, fresh: StoreIdentity) -> StoreIdentity:
        """What tells this store from others, for good; ``fresh`` where it has none yet."""
        ...

    async def register(self, instance: Instance, lease: float) -> None:
        """A new instance, alive until now + lease; open alerts of workflows or Agents that nobody served until now are
        acknowledged in its name, and of what a Scheduler serves, tasks that wait for code that fits their record become
        claimable at once. The Agents that it serves are known from then on."""
        ...

    async def register_workflows(self, workflows: Sequence[WorkflowRecord]) -> None:
        """Record what this program knows of its workflows."""
        ...

    async def register_schedules(self, schedules: Sequence[Schedule]) -> None:
        """Record recurring tasks; one whose timetable stays as it was keeps its next nominal time and its pause."""
        ...

    async def renew(
        self,
        instances: Sequence[str],
        lease: float,
        reports: Mapping[str, Report] = NO_REPORTS,
        ahead: float | None = None,
    ) -> set[str]:
        """Extend the leases of a host's instances, with what they say of themselves; those that are still alive.

        ``ahead``: by how many seconds their host's wall clock is ahead of the store's; None if that is not known.
        """
        ...

    async def retire(self, instance: str, *, in_order: bool = True) -> None:
        """Declare oneself dead; the tasks it still holds become free at once, none counted as failed.

        ``in_order``: as it was told to, and not because something broke or hangs.
        """
        ...

    def break_off(self) -> bool:
        """Roll back a transaction that is open here and keeps other writers out, and whether there was one.

        For a thread that ends the process because its event loop hangs; this object is of no use afterwards.
        """
        ...

    async def count_hang(self, task: str, sender: str, where: str) -> int | None:
        """Code of the task held up an event loop for a whole lease: how often so far, None if it ended or is not there.

        From the second time on its inbox holds the word to fail, which its owner, present or next, carries out before
        it runs any of its code.
        """
        ...

    async def warn(self, alert: Alert) -> None:
        """Make an alert about a queue, unless one of its kind with the same details is open."""
        ...

    async def end_warning(self, kind: str, details: bytes, sender: str) -> None:
        """Acknowledge the open alerts of that kind with these details: what they report is over."""
        ...

    async def standings(self) -> list[AgentStanding]:
        """How each Agent that was ever served stands, by name."""
        ...

    async def open_breaker(self, agent: str, instance: str, seconds: float) -> bool:
        """Let nothing pass for so long; False, and nothing changed, if its breaker was open and others probe it."""
        ...

    async def grant_probe(self, agent: str, instance: str, seconds: float) -> bool:
        """Let this instance alone find out, within so long, whether the service is back; False if it is not time."""
        ...

    async def close_breaker(self, agent: str, instance: str) -> bool:
        """Let everything pass again; False, and nothing changed, unless this instance probes."""
        ...

    async def stirred(self, every: float) -> None:
        """Wait until ``changed`` is worth asking: until there is word, or ``every`` seconds where none is ever sent."""
        ...

    def changed(self) -> bool:
        """Whether another connection has changed the store since the last call; no statement is counted for it."""
        ...
