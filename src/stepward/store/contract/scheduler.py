"""The Scheduler's part of the store: claim, load, commit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from stepward.model.messages.requests import Progress, Reply
from stepward.model.records import History, InboxRow, Step, Task
from stepward.store.contract.transactions import Transaction
from stepward.store.contract.values.change import Change, Committed


class SchedulerStore(Protocol):
    """What a Scheduler may do."""

    @property
    def transactional_steps(self) -> int:
        """How many transactional steps may be under way at once without one waiting for another's connection."""
        ...

    def now(self) -> float:
        """The store's clock."""
        ...

    async def claim(
        self, instance: str, workflows: Sequence[tuple[str, str]], limit: int, least: Least | None = None
    ) -> list[History]:
        """Take up to ``limit`` free tasks of those (workflow, version): pending, waiting and due, undoing.

        Highest priority first; within a priority the fairness keys take turns, from claim to claim of this object, and
        no key is a key of its own; within a key oldest first. They are given in that order. ``least`` leaves out what
        deserves no room. Sets locked_by, started_at, and ``processing`` (``undoing`` stays). Takes none and raises
        InstanceFenced if the instance is dead.
        """
        ...

    async def load(self, instance: str, tasks: Sequence[str]) -> list[History]:
        """The histories of those of the tasks that the instance holds."""
        ...

    async def read_inbox(self, instance: str, after: int) -> list[InboxRow]:
        """Inbox rows numbered above ``after`` of tasks that the instance holds, in order, at most 10,000."""
        ...

    async def next_wake(self) -> float | None:
        """When the next free task becomes due; in the past if one is claimable now."""
        ...

    async def commit(self, instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        """Apply a turn in one transaction; ``renew`` seconds extend the instance's lease in passing.

        Raises InstanceFenced (nothing changed) unless the instance row is alive, CommitUnknown when the outcome of the
        commit itself is unknown. A change that misses or is refused for its data is left out, the rest stands.
        """
        ...

    async def settle_misrouted(self, replies: Sequence[Reply]) -> None:
        """Replies for tasks that this instance does not hold.

        A live task that another instance holds gets them as inbox rows (kind reply). Of a task that nobody holds the
        outcome is recorded, not delivered, if that attempt is still running (or abandoned). Else nothing changes but
        one audit row (late_reply), and an alert late_effect_after_undo when a success comes after a step's undo began.
        """
        ...

    async def unowned_steps(self, after: WatchedPlace, agents: Collection[str] | None, limit: int) -> UnownedSteps:
        """Of the next ``limit`` watched running steps behind a place in the order of their complete-by, those that are
        asked of these Agents (None: of any) while no live instance holds their task."""
        ...

    async def note_progress(self, updates: Sequence[Progress]) -> set[tuple[str, int, str]]:
        """Keep what Agents reported of running attempts, whichever instance holds the tasks; older reports, and those
        of other attempts, change nothing.

        The steps that were looked at, by task, run and key; one that somebody is changing now is passed over.
        """
        ...

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """A transaction of its own; leaving it commits, an exception rolls back."""
        ...


WatchedPlace = tuple[float, str, int, str]
"""Complete-by, task, run and key of a running step."""


class UnownedStep(Struct, frozen=True):
    """A running step of a task that no live instance holds; ``undone`` is the step that an undo undoes."""

    task: Task
    step: Step
    undone: Step | None


class UnownedSteps(Struct, frozen=True):
    """What one look found; ``after`` is the last place that it read, None behind the last of all."""

    steps: Sequence[UnownedStep]
    after: WatchedPlace | None


class Least(Struct, frozen=True):
    """The least that is claimed: tasks of that priority, other than those of some fairness keys, and all above."""

    priority: int
    but: frozenset[str | None] = frozenset()
