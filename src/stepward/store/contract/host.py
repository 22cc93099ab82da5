"""What the host of actors needs of the store: leases, registrations, and word of changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from stepward.model.agents import NO_REPORTS, AgentStanding, Report
from stepward.model.records import Instance, Schedule, WorkflowRecord


class HostStore(Protocol):
    """What the host of actors needs."""

    def now(self) -> float:
        """The store's clock."""
        ...

    async def register(self, instance: Instance, lease: float) -> None:
        """A new instance, alive until now + lease; open alerts of workflows or Agents that nobody served until now are
        acknowledged in its name. The Agents that it serves are known from then on."""
        ...

    async def register_workflows(self, workflows: Sequence[WorkflowRecord]) -> None:
        """Record what this program knows of its workflows."""
        ...

    async def register_schedules(self, schedules: Sequence[Schedule]) -> None:
        """Record recurring tasks; one whose timetable stays as it was keeps its next nominal time and its pause."""
        ...

    async def renew(
        self, instances: Sequence[str], lease: float, reports: Mapping[str, Report] = NO_REPORTS
    ) -> set[str]:
        """Extend the leases of a host's instances, with what they say of themselves; those that are still alive."""
        ...

    async def retire(self, instance: str) -> None:
        """Declare oneself dead in good order; the tasks it still holds become free at once, none counted as failed."""
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
