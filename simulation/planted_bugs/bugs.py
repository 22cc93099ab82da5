"""Planted bugs: real code broken from outside, one guard at a time, to show that the simulation would notice.

A checker that cannot fail is worth nothing. Each name here is a guard of the design; without it some seed must break.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from msgspec.structs import replace

from simulation.planted_bugs.approval_bugs import OF_APPROVALS
from simulation.planted_bugs.event_bugs import OF_EVENTS
from simulation.planted_bugs.harsh_bugs import OF_HARSH_WORLDS
from simulation.planted_bugs.planting import BUGS, bug, planted, put, reword
from simulation.planted_bugs.undo_bugs import OF_UNDO
from simulation.planted_bugs.update_bugs import OF_UPDATES
from stepward.agent.call_execution import CallExecution
from stepward.model.messages.requests import idempotency_key, request_for
from stepward.model.records import InboxKind
from stepward.model.states import TaskState
from stepward.scheduler.agent_replies.replies import Replies
from stepward.scheduler.dispatch import dispatcher
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.scheduler.tasks.advance import Advance
from stepward.scheduler.tasks.records.loading import TaskLoader
from stepward.scheduler.tasks.task_inputs import Incoming
from stepward.scheduler.tasks.transitions import Transitions
from stepward.scheduler.turn import Turn
from stepward.scheduler.turn_budget import TurnBudget
from stepward.store.sqlite.engine.query_catalogue import load_catalogue
from stepward.store.sqlite.hot import claiming as store_claiming
from stepward.store.sqlite.hot import scheduler as store_scheduler
from stepward.workflow.decisions import DecisionLog
from stepward.workflow.event_loop.loop import WorkflowLoop
from stepward.workflow.pipeline.pipeline_run import Flow

__all__ = ["BUGS", "OF_APPROVALS", "OF_EVENTS", "OF_HARSH_WORLDS", "OF_UNDO", "OF_UPDATES", "planted"]


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
        self._dispatcher.send(self._starts.begin_commit(), (), {})
        self._starts.end_commit()
        await original(self, revoked)

    put(stack, Turn, "_commit", commit)


@bug
def answered_while_committing(stack: ExitStack) -> None:
    """A reply changes a task whose change is on its way into the store."""

    def take_all(self: Replies, tasks: object, budget: TurnBudget) -> Any:
        return self.take(budget)

    put(stack, Replies, "take_but", take_all)


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
    """A task that is evicted runs on as if it had been cancelled."""

    def close_all(self: WorkflowLoop, most: int | None = None) -> bool:
        self.halted = True
        self._inside(lambda: _close_each(self._tasks))
        self._tasks.clear()
        return True

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
    """Signals that stand in the inbox are not handed to a task that is read again."""
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
