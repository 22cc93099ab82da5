"""A turn's commit, again and again while the store is away; what is done meanwhile, and what follows from it here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stepward.clock import no_failpoint
from stepward.errors import StoreUnavailable
from stepward.events import Observers
from stepward.model.failures import brief
from stepward.model.messages.change_kinds import INBOX, TASKS
from stepward.model.records import Task
from stepward.model.states import TASK_ENDS, TaskState
from stepward.policies import grown
from stepward.scheduler.agent_replies.replies import Replies
from stepward.scheduler.context import SchedulerContext
from stepward.scheduler.failpoints import crash_points
from stepward.scheduler.intake import UNAVAILABLE, Intake, LocalSubmissions
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.scheduler.tasks.phases import Phase
from stepward.scheduler.tasks.task_cache import ActiveTasks, Misses
from stepward.scheduler.tasks.task_inputs import Incoming
from stepward.scheduler.tasks.turn_end import Closing
from stepward.scheduler.turn_budget import MOST, PIECE, SMALL_BYTES, TURN_BYTES, TurnBudget
from stepward.store.contract import OVERTAKEN, Change

FIRST_DELAY = 0.05
LONGEST_DELAY = 1.0
RENEWALS_PER_LEASE = 3
TOGETHER = 4 * PIECE
"""Most tasks of a turn whose changes are committed without a run of the event loop before and after."""


class WorkAhead:
    """While the store has a turn's changes in hand, begins the next turn with the replies to all other tasks."""

    def __init__(
        self,
        replies: Replies,
        active_tasks: ActiveTasks,
        incoming: Incoming,
        budget: TurnBudget,
        now: Callable[[], float],
    ) -> None:
        self._replies = replies
        self._active_tasks = active_tasks
        self._incoming = incoming
        self._budget = budget
        self._now = now
        self.in_hand: set[str] | None = None
        """The tasks whose changes are on their way into the store; None while there are none."""

    def answer(self) -> None:
        """Replies came: hand over those that need not wait."""
        if self.in_hand is not None and len(self._active_tasks.touched) < MOST:
            now = self._now()
            self._budget.until = None
            for each in self._replies.take_but(self.in_hand, self._budget):
                self._incoming.answer(each.reply, each.committed_at, now)


class Commits:
    """Carries changes into the store; a busy instance's lease is renewed on the way."""

    def __init__(self, context: SchedulerContext, ahead: WorkAhead) -> None:
        self._store = context.store
        self._ahead = ahead
        self._settings = context.settings
        self._environment = context.environment
        self._observers = context.observers
        self._instance = context.instance
        self._has_failpoint = context.environment.failpoint is not no_failpoint
        self._renew_at = context.store.now()
        self.failed_at: float | None = None
        """When the last attempt at a commit failed because the store was not available; None if it did not."""

    async def commit(self, touched: list[ActiveTask]) -> dict[str, str]:
        """Commit the changes of all these tasks; the uids of those that missed, with the reason.

        The event loop runs before and after a commit of many changes. Raises InstanceFenced or CommitUnknown: then
        nothing of this memory may be used any more.
        """
        missed: dict[str, str] = {}
        batches = list(self._batches(touched))
        is_large = len(touched) > TOGETHER or len(batches) > 1
        self._ahead.in_hand = {active.task.uid for active in touched}
        try:
            if is_large:
                await asyncio.sleep(0)
            for batch in batches:
                missed |= await self._commit(batch)
            if is_large:
                await asyncio.sleep(0)
        finally:
            self._ahead.in_hand = None
        return missed

    async def _commit(self, changes: list[Change]) -> dict[str, str]:
        passed = crash_points(changes) if self._has_failpoint else []
        for name in passed:
            self._environment.failpoint(f"{name}.before")
        missed = await self._until_done(changes)
        for name in passed:
            self._environment.failpoint(f"{name}.after")
        return missed

    async def _until_done(self, changes: list[Change]) -> dict[str, str]:
        failures = 0
        refused: dict[str, str] = {}
        while changes or not failures:
            now = self._store.now()
            renew = self._settings.lease if now >= self._renew_at else None
            try:
                committed = await self._store.commit(self._instance, changes, renew)
            except StoreUnavailable as error:
                failures += 1
                self.failed_at = now
                # Clients are answered with the error; tasks under way wait for the store.
                refused |= {change.task: UNAVAILABLE + str(error) for change in changes if change.born}
                changes = [change for change in changes if change.born is None]
                self._observers.emit("store.unavailable", error=str(error), tries=failures)
                await asyncio.sleep(grown(FIRST_DELAY, 2.0, LONGEST_DELAY, failures))
                continue
            self.failed_at = None
            if renew is not None:
                self._renew_at = now + self._settings.lease / RENEWALS_PER_LEASE
            return refused | committed.missed
        return refused

    def _batches(self, touched: Sequence[ActiveTask]) -> Iterator[list[Change]]:
        """Whole changes, about ``commit_rows`` rows or TURN_BYTES a transaction."""
        batch: list[Change] = []
        rows = size = 0
        for active in touched:
            change = active.change
            if change is None:
                continue
            batch.append(change)
            rows += len(change.inserts) + len(change.finishes) + len(change.requests) + 1
            if change.children or change.fills:
                rows += len(change.children) + len(change.fills)
            if change.plans:
                rows += sum(map(change.stages_of, change.begun))
            if change.born is not None:
                size += len(change.born.input)
            if change.move is not None and change.move.output is not None:
                size += len(change.move.output)
            if active.bytes >= SMALL_BYTES or change.taken or change.posts or change.published or change.appended:
                size += _payload_bytes(change)
            if rows >= self._settings.commit_rows or size >= TURN_BYTES:
                yield batch
                batch, rows, size = [], 0, 0
        if batch:
            yield batch


def _payload_bytes(change: Change) -> int:
    """The bytes of the steps, messages and values that a change writes."""
    size = sum([len(step.input) + len(step.output or b"") for step in (*change.inserts, *change.fills)])
    size += sum([len(finish.output or b"") for finish in change.finishes])
    size += sum([len(body) for _, body, _ in change.requests])
    size += sum([len(post.body) for post in change.posts])
    size += sum([len(row.value) for row in (*change.published, *change.appended)])
    if change.status_events is not None:
        size += sum([len(body) for _, body in change.status_events.rows()])
    return size


@dataclass(frozen=True, slots=True)
class Listeners:
    """Callbacks into the rest of the process, made after a commit."""

    ended: Callable[[Task], None]
    """A task has ended."""
    events_written: Callable[[], None]
    """Status events stand in their queues."""
    wrote: Callable[[], None]
    """Values or answers for readers outside are written."""
    gave_up: Callable[[], None]
    """A step waits for the Supervisor's decision."""


class Conclusions:
    """Does what follows from a commit: a change is durable, or it missed and its task is read again."""

    def __init__(
        self,
        closing: Closing,
        active_tasks: ActiveTasks,
        replies: Replies,
        local_submissions: LocalSubmissions,
        misses: Misses,
        intake: Intake,
        listeners: Listeners,
        observers: Observers,
    ) -> None:
        self._closing = closing
        self._active_tasks = active_tasks
        self._replies = replies
        self._local_submissions = local_submissions
        self._misses = misses
        self._intake = intake
        self._listeners = listeners
        self._observers = observers

    def draw(self, touched: Sequence[ActiveTask], missed: Mapping[str, str]) -> None:
        """The changes of these tasks are durable but for those that ``missed``, by uid, with the reason."""
        has_events = False
        for active in touched:
            reason = missed.get(active.task.uid)
            if reason is None:
                has_events |= active.change is not None and active.change.status_events is not None
                self._conclude(active)
            else:
                self._miss(active, reason)
        self._misses.forget(active.task.uid for active in touched if active.task.uid not in missed)
        if has_events:
            self._listeners.events_written()

    def _conclude(self, active: ActiveTask) -> None:
        if active.change is not None:
            self._note(active.change, active.task)
        if active.held_back:
            self._replies.again(active.held_back)
        if (active.overflow or active.behind) and not active.leaving:
            self._active_tasks.touched[active.task.uid] = active
        self._closing.committed(active)
        if active.leaving:
            self._active_tasks.forget(active)
            if active.task.state in TASK_ENDS:
                self._report_end(active.task)

    def _note(self, change: Change, task: Task) -> None:
        """What a change that is durable leaves to be done."""
        if change.posts or change.children:
            # The store sends no hint of what this connection itself put into inboxes or began.
            self._intake.hint(INBOX | TASKS)
        if change.move is not None and change.move.after in TASK_ENDS and task.workflow in self._intake.limited:
            # Its permit has gone to a task that waited for one.
            self._intake.hint(INBOX | TASKS)
        if change.watches and any(watch.error is not None for watch in change.watches):
            self._listeners.gave_up()
        if change.published or change.appended or change.answers:
            self._listeners.wrote()
        if change.born is not None:
            self._local_submissions.done(task)

    def _miss(self, active: ActiveTask, reason: str) -> None:
        self._active_tasks.forget(active)
        if self._local_submissions.missed(active.task, reason):
            active.enter(Phase.RELEASED)
            return
        if reason != OVERTAKEN:
            self._misses.count(active.task.uid, reason)
        self._observers.emit("task.missed", task=active.task.id, reason=reason)
        active.enter(Phase.RELOADING)
        self._replies.again((*(active.replies or ()), *(active.held_back or ())))

    def _report_end(self, task: Task) -> None:
        self._listeners.ended(task)
        if self._observers.listening:
            failure = brief(task.error) if task.state is TaskState.ERROR else {}
            self._observers.emit(f"task.{task.state}", task=task.id, workflow=task.workflow, **failure)
