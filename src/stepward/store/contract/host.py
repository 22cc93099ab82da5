"""What the host of actors needs of the store: leases, registrations, and word of changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stepward.model.records import Instance, Schedule, WorkflowRecord


class HostStore(Protocol):
    """What the host of actors needs."""

    def now(self) -> float:
        """The store's clock."""
        ...

    async def register(self, instance: Instance, lease: float) -> None:
        """A new instance, alive until now + lease; open alerts of workflows or Agents that nobody served until now are
        acknowledged in its name."""
        ...

    async def register_workflows(self, workflows: Sequence[WorkflowRecord]) -> None:
        """Record what this program knows of its workflows."""
        ...

    async def register_schedules(self, schedules: Sequence[Schedule]) -> None:
        """Record recurring tasks; one whose timetable stays as it was keeps its next nominal time and its pause."""
        ...

    async def renew(self, instances: Sequence[str], lease: float) -> set[str]:
        """Extend the leases of a host's instances; those of them that are still alive."""
        ...

    async def retire(self, instance: str) -> None:
        """Declare oneself dead in good order; the tasks it still holds become free at once, none counted as failed."""
        ...

    def changed(self) -> bool:
        """Whether another connection has changed the store since the last call; no statement is counted for it."""
        ...
