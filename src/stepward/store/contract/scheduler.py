"""The Scheduler's part of the store: claim, load, commit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from stepward.model.messages.requests import Progress, Reply
from stepward.model.records import History, InboxRow, Step, Task
from stepward.store.contract.transactions import Transaction
from stepward.store.contract.values.turn_change import Change, Committed

INBOX_ROWS = 1_000
"""Most inbox rows that one read returns."""


class SchedulerStore(Protocol):
    """The verbs of a Scheduler."""

    @property
    def transactional_steps(self) -> int:
        """Most transactional steps that can run at once without waiting for a connection."""
        ...

    def now(self) -> float:
        """The store's clock."""
        ...

    async def claim(
        self, instance: str, workflows: Sequence[tuple[str, str]], limit: int, least: Least | None = None
    ) -> list[History]:
        """Claims up to ``limit`` tasks of these (workflow, version) that have no owner and are pending, undoing, or
        waiting and due.

        Highest priority first; within a priority the fairness keys take turns, over all claims of this object, and
        tasks without a key share one turn; within a key oldest first. They are returned in that order. ``least`` leaves
        out tasks below a priority. Sets locked_by, started_at, and ``processing`` (``undoing`` stays). Claims none and
        raises InstanceFenced if the instance is dead.
        """
        ...

    async def load(self, instance: str, tasks: Sequence[str], *, are_long: bool = False) -> list[History]:
        """The histories of those of the tasks that the instance holds; long ones do not delay the event loop."""
        ...

    async def read_inbox(self, instance: str, after: int) -> list[InboxRow]:
        """Inbox rows numbered above ``after`` of tasks that the instance holds, in order, at most ``INBOX_ROWS``."""
        ...

    async def next_wake(self) -> float | None:
        """The instant at which the next task becomes claimable; in the past if one is claimable now."""
        ...

    async def next_start(self) -> float | None:
        """The instant at which the rate of a workflow lets a task start that waits for it; None if none waits."""
        ...

    async def commit(self, instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        """Applies a turn in one transaction; ``renew`` extends the instance's lease by so many seconds.

        Raises InstanceFenced (nothing changed) unless the instance is alive, CommitUnknown when the outcome of the
        commit is unknown. A change that does not apply, or whose data are refused, is left out; the others are
        committed.
        """
        ...

    async def settle_misrouted(self, replies: Sequence[Reply]) -> None:
        """Settles replies for tasks that this instance does not hold.

        A live task that another instance holds gets them as inbox rows (kind reply). For a task without an owner the
        outcome is recorded, not delivered, if that attempt is still running (or abandoned). Otherwise only an audit row
        (late_reply) is written, and an alert late_effect_after_undo when a success arrives after the step's undo began.
        """
        ...

    async def unowned_steps(self, after: WatchedPlace, agents: Collection[str] | None, limit: int) -> UnownedSteps:
        """Among the next ``limit`` watched running steps after a position, by complete-by: those that are requests
        to these Agents (None: to any) while no live instance holds their task."""
        ...

    async def note_progress(self, updates: Sequence[Progress]) -> set[tuple[str, int, str]]:
        """Writes the progress that Agents reported of running attempts, whichever instance holds the tasks; older
        reports, and those of other attempts, change nothing.

        Returns the steps that were examined, by task, run and key; steps that another transaction has locked are
        skipped.
        """
        ...

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """A transaction on a connection of the store; leaving it commits, an exception rolls back."""
        ...


WatchedPlace = tuple[float, str, int, str]
"""A position in the order of watched steps: complete-by, task, run and key."""


class UnownedStep(Struct, frozen=True):
    """A running step of a task that no live instance holds; ``undone`` is the step that an undo undoes."""

    task: Task
    step: Step
    undone: Step | None


class UnownedSteps(Struct, frozen=True):
    """The result of one read; ``after`` is the last position that it reached, None at the end."""

    steps: Sequence[UnownedStep]
    after: WatchedPlace | None


class Least(Struct, frozen=True):
    """The lower bound of a claim: tasks of that priority with other fairness keys than those given, and all tasks
    above it."""

    priority: int
    but: frozenset[str | None] = frozenset()
