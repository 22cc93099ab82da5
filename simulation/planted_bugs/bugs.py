"""Planted bugs: real code broken from outside, one guard at a time, to show that the simulation would notice.

A checker that cannot fail is worth nothing. Each name here is a guard of the design; without it some seed must break.
"""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from typing import Any, cast

from msgspec.structs import replace

from simulation.planted_bugs.approval_bugs import OF_APPROVALS
from simulation.planted_bugs.harsh_bugs import OF_HARSH_WORLDS
from simulation.planted_bugs.planting import BUGS, bug, planted, put, reword
from stepward.agent.execution import CallExecution
from stepward.client.queues.events import StatusEvents
from stepward.model import effects
from stepward.model.messages.requests import idempotency_key, request_for
from stepward.model.records import InboxKind
from stepward.model.states import StepState, TaskState
from stepward.scheduler.commits import Commits
from stepward.scheduler.dispatch import dispatcher
from stepward.scheduler.replies import Replies
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.scheduler.tasks.advance import Advance
from stepward.scheduler.tasks.incoming import Incoming
from stepward.scheduler.tasks.records.loading import TaskLoader
from stepward.scheduler.tasks.transitions import Transitions
from stepward.scheduler.turn import Turn
from stepward.store.sqlite.engine.connection import BEGIN_WRITE
from stepward.store.sqlite.engine.query_catalogue import load_catalogue
from stepward.store.sqlite.hot import claiming as store_claiming
from stepward.store.sqlite.hot import scheduler as store_scheduler
from stepward.store.sqlite.hot import status_events
from stepward.store.sqlite.hot.transaction import SqliteTransaction
from stepward.submission import Submitter
from stepward.workflow import undo
from stepward.workflow.decisions import DecisionLog
from stepward.workflow.event_loop.loop import WorkflowLoop
from stepward.workflow.pipeline.pipeline_run import Flow

__all__ = ["BUGS", "OF_APPROVALS", "OF_HARSH_WORLDS", "planted"]


def _close_each(tasks: list[Any]) -> None:
    for task in tasks:
        if not task.done():
            task.get_coro().close()


@bug
def fence_not_checked(stack: ExitStack) -> None:
    """A commit of an instance that was declared dead goes through."""
    put(stack, store_scheduler, "check_alive", lambda connection, instance: None)
    put(stack, store_scheduler, "_prove", lambda connection, turn, now: None)


@bug
def attempt_not_checked(stack: ExitStack) -> None:
    """The answer to an old attempt ends the attempt that runs now."""
    original = Incoming.answer

    def answer(self: Incoming, reply: Any, committed: bool, now: float) -> None:
        active = self._active_tasks.tasks.get(reply.task)
        step = active.open.get((reply.run, reply.key)) if active is not None else None
        original(self, replace(reply, attempt=step.attempt) if step is not None else reply, committed, now)

    put(stack, Incoming, "answer", answer)


@bug
def dispatched_before_commit(stack: ExitStack) -> None:
    """Requests leave as soon as the turn has decided on them."""
    original = Turn._commit

    async def commit(self: Turn, revoked: Any) -> None:
        with self._starts.committing() as started:
            self._dispatcher.send(started, ())
        await original(self, revoked)

    put(stack, Turn, "_commit", commit)


@bug
def answered_while_committing(stack: ExitStack) -> None:
    """A reply changes a task whose change is on its way into the store."""

    def take_all(self: Replies, tasks: object) -> Any:
        return self.take()

    put(stack, Replies, "take_but", take_all)


@bug
def possibly_executed_not_undone(stack: ExitStack) -> None:
    """Undo takes only completed steps back."""
    original = effects.needs_undo
    put(stack, undo, "needs_undo", lambda step: step.state is StepState.COMPLETED and original(step))


@bug
def undone_oldest_first(stack: ExitStack) -> None:
    """Undo goes forward in time."""
    original = undo._recency
    put(stack, undo, "_recency", lambda step: tuple(-part for part in original(step)))


@bug
def decision_without_compare(stack: ExitStack) -> None:
    """The Supervisor decides on a step whatever became of it since it looked."""
    reword(stack, load_catalogue(), "supervisor.decide", "and attempt = ?4 and state = 'running'", "and ?4 > 0")


@bug
def inbox_not_compared(stack: ExitStack) -> None:
    """A task is let go although something came into its inbox."""
    reword(stack, store_scheduler.TURN, "move_task", "(not ?5 or inbox = ?4)", "(not ?5 or ?4 >= 0)")


@bug
def ordinal_given_twice(stack: ExitStack) -> None:
    """Two outcomes are recorded as delivered at one place."""
    original = DecisionLog.deliver

    def deliver(self: DecisionLog, key: str) -> None:
        self._ordinal -= self._ordinal % 3 == 2
        original(self, key)

    put(stack, DecisionLog, "deliver", deliver)


@bug
def key_differs_by_attempt(stack: ExitStack) -> None:
    """Every attempt of a step carries an idempotency key of its own."""
    original = request_for

    def request(task: Any, step: Any, instance: str) -> Any:
        key = idempotency_key(step.task, step.run, step.key, step.attempt)
        return replace(original(task, step, instance), idempotency_key=key)

    put(stack, dispatcher, "request_for", request)


@bug
def called_past_complete_by(stack: ExitStack) -> None:
    """The Agent does not look at the clock before it calls the service."""

    def called(self: CallExecution, call: Any, target: Any, args: Any, kwargs: Any) -> Any:
        self._failpoint("agent.call.before")
        call.calls += 1
        return target.fn(*args, **kwargs)

    put(stack, CallExecution, "_called", called)


@bug
def error_without_alert(stack: ExitStack) -> None:
    """A task goes into error without an alert."""
    original = Transitions.error

    def error(self: Transitions, active: Any, *args: Any, **more: Any) -> None:
        original(self, active, *args, **more)
        active.changed().alerts = ()

    put(stack, Transitions, "error", error)


@bug
def eviction_runs_finally(stack: ExitStack) -> None:
    """What is let go from memory goes on as if it had been cancelled."""

    def close_all(self: WorkflowLoop) -> None:
        self.halted = True
        self._inside(lambda: _close_each(self._tasks))
        self._tasks.clear()

    put(stack, WorkflowLoop, "close_all", close_all)
    put(stack, WorkflowLoop, "check_usable", lambda self: None)


@bug
def takeover_forgets_running(stack: ExitStack) -> None:
    """A new owner does not take over the steps that were running."""
    put(stack, TaskLoader, "_take_over", lambda self, active, now, *, is_lost: None)


@bug
def repeat_keeps_attempt(stack: ExitStack) -> None:
    """The next attempt of a step goes by the number of the last."""
    original = ActiveTask.start

    def start(self: ActiveTask, step: Any, now: float) -> None:
        original(self, step, now)
        step.attempt = min(step.attempt, 1)

    put(stack, ActiveTask, "start", start)
    reword(stack, store_scheduler.TURN, "dispatch", "attempt = ?4 - 1", "attempt in (?4, ?4 - 1)")


@bug
def child_end_not_posted(stack: ExitStack) -> None:
    """A parent does not receive the end of its child."""
    original = Transitions._end

    def end(self: Transitions, active: Any, *args: Any, **more: Any) -> None:
        original(self, active, *args, **more)
        change = active.changed()
        change.posts = [post for post in change.posts if post.kind is not InboxKind.CHILD]

    put(stack, Transitions, "_end", end)


@bug
def signals_lost_on_takeover(stack: ExitStack) -> None:
    """Signals that stand in the inbox are not handed to a task that is read anew."""
    original = Advance.admit

    def admit(self: Advance, active: Any, history: Any, now: float) -> None:
        inbox = [row for row in history.inbox if row.kind is not InboxKind.SIGNAL]
        original(self, active, replace(history, inbox=inbox), now)

    put(stack, Advance, "admit", admit)


@bug
def freed_from_the_living(stack: ExitStack) -> None:
    """Tasks are taken from instances that live."""
    reword(stack, load_catalogue(), "supervisor.free", "i.alive = 0", "i.alive >= 0")


@bug
def goes_forward_after_undo(stack: ExitStack) -> None:
    """Steps that wait to be repeated are repeated although undo began."""
    put(stack, ActiveTask, "may_start", lambda self, step: True)


@bug
def abandoned_left_standing(stack: ExitStack) -> None:
    """What workflow code gave up is not taken back before the task ends."""
    put(stack, Advance, "_leave_run", lambda self, active, now: self._ends.left(active, now))


@bug
def doubt_forgotten(stack: ExitStack) -> None:
    """A step that failed with an unknown outcome is taken for one that never acted."""
    original = rows.finish

    def finish(step: Any, reply: Any, delivered: Any, now: float) -> Any:
        return replace(original(step, reply, delivered, now), in_doubt=False)

    put(stack, rows, "finish", finish)


@bug
def turns_forgotten(stack: ExitStack) -> None:
    """Every claim begins with the same fairness key."""
    put(stack, store_claiming, "gone_on", lambda turns, claimed: turns)


@bug
def lowest_priority_first(stack: ExitStack) -> None:
    """A claim begins with what may wait longest."""
    reword(stack, store_claiming.Q, "tops", "order by priority desc", "order by priority")


@bug
def overtaken_never_comes_back(stack: ExitStack) -> None:
    """A task that was let go for another waits for nothing that would ever come."""
    original = Transitions.displaced

    def displaced(self: Transitions, active: Any, now: float) -> None:
        original(self, active, now)
        change = active.changed()
        change.move = replace(change.move, after=TaskState.WAITING)

    put(stack, Transitions, "displaced", displaced)


@bug
def born_without_its_plan(stack: ExitStack) -> None:
    """A pipeline's task that is born claimed is recorded without its stages."""
    put(stack, Advance, "plan", lambda self, active: None)


@bug
def stages_wait_for_one_alone(stack: ExitStack) -> None:
    """A stage starts when the first of those that it waits for is done."""
    original = Flow.__init__

    def waiting(self: Flow, *given: Any) -> None:
        original(self, *given)
        self._missing = dict.fromkeys(self._missing, 1)

    put(stack, Flow, "__init__", waiting)


@bug
def told_outside_its_commit(stack: ExitStack) -> None:
    """Events are put into their queues before the commit of what they tell."""
    original = Commits._commit

    async def commit(self: Commits, changes: Any) -> Any:
        for change in changes:
            if change.status_events is not None:
                bodies = [(body, None) for body in change.status_events.bodies]
                await cast("Any", self._store).beside.put(change.status_events.queue, bodies)
                change.status_events = None
        return await original(self, changes)

    put(stack, Commits, "_commit", commit)


@bug
def recorded_outcomes_not_told(stack: ExitStack) -> None:
    """What a dead owner had recorded, and its heir gives to the workflow, is forgotten by those who tell."""
    original = Advance._deliver

    def deliver(self: Advance, active: Any, *given: Any) -> None:
        active.recorded = {}
        original(self, active, *given)

    put(stack, Advance, "_deliver", deliver)


@bug
def sequence_used_twice(stack: ExitStack) -> None:
    """Who takes a task over begins to count where its last owner's last event stands."""
    original = TaskLoader.admit

    def admit(self: TaskLoader, history: Any, now: float, **more: Any) -> Any:
        task = history.task
        task.events -= task.recovery_count > 0
        return original(self, history, now, **more)

    put(stack, TaskLoader, "admit", admit)
    reword(stack, status_events.Q, "count", "and events = ?2", "and events >= ?2")


@bug
def events_settled_before_they_are_heard(stack: ExitStack) -> None:
    """A reader settles what it has read, and gives it on after that."""
    original = StatusEvents._fetch

    async def fetch(self: StatusEvents) -> None:
        await original(self)
        await self._queues.settle(self._queue, [token for token, _ in self._ready])

    put(stack, StatusEvents, "_fetch", fetch)


@bug
def messages_settled_before_the_commit(stack: ExitStack) -> None:
    """A submission acknowledges what it takes, and makes tasks of it after that."""
    original = Submitter._work

    async def work(self: Submitter, found: Any) -> None:
        await self._queues.settle(self._queue, [stored.token for stored in found])
        await original(self, found)

    put(stack, Submitter, "_work", work)


@bug
def accepted_outside_a_savepoint(stack: ExitStack) -> None:
    """What a message that fails has written stands beside its neighbours' tasks."""
    put(stack, SqliteTransaction, "savepoint", lambda self: nullcontext())


@bug
def accepted_outside_the_transaction(stack: ExitStack) -> None:
    """What the application writes for a message commits before its task."""
    original = SqliteTransaction.submit

    async def submit(self: SqliteTransaction, *given: Any) -> Any:
        self._connection.commit()
        self._connection.begin(BEGIN_WRITE)
        return await original(self, *given)

    put(stack, SqliteTransaction, "submit", submit)


@bug
def messages_not_known_again(stack: ExitStack) -> None:
    """A message that comes again is accepted again."""

    async def known(self: SqliteTransaction, ids: Any) -> set[str]:
        return set()

    put(stack, SqliteTransaction, "known", known)
