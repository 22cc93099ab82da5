"""Planted bugs that harsh worlds find; see ``bugs``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from msgspec.structs import replace

from simulation.environment.clock import BOOTED_FOR
from simulation.planted_bugs.planting import bug, put
from stepward.agent import call_execution, call_lifecycle
from stepward.agent.protection.circuit_breaker import Breaker, BreakerState
from stepward.model.messages.requests import Outcome, Request, idempotency_key, request_for
from stepward.model.states import StepKind
from stepward.scheduler.agent_replies import replies
from stepward.scheduler.dispatch import dispatcher
from stepward.scheduler.intake import Intake
from stepward.scheduler.tasks import child_tasks, inbox
from stepward.scheduler.tasks.advance import Advance
from stepward.scheduler.tasks.undo import TaskUndo
from stepward.store.rules import supervisor_rows
from stepward.store.rules.directives import repair_rows
from stepward.store.sqlite.engine.clock import StoreClock
from stepward.transport.store.store_transport import StoreTransport
from stepward.workflow import undo_planner
from stepward.workflow.execution import Execution
from stepward.workflow.replay import run_record
from stepward.workflow.replay.run_record import Recordings

ROWS_AT_ONCE = 5
RUNS_TOLD_APART = 3


@bug
def deadlines_by_own_timers(stack: ExitStack) -> None:
    """A process tells the store's time by its own timers, which may run fast."""

    def now(self: StoreClock) -> float:
        return asyncio.get_running_loop().time() + BOOTED_FOR + self._offset

    put(stack, StoreClock, "now", now)


@bug
def undone_key_lost_on_the_way(stack: ExitStack) -> None:
    """A request through the store does not say under which key was done what is to be undone."""
    original = StoreTransport.publish

    async def publish(self: StoreTransport, queue: str, messages: Sequence[Any]) -> None:
        cut = [replace(each, undoes=None) if isinstance(each, Request) else each for each in messages]
        await original(self, queue, cut)

    put(stack, StoreTransport, "publish", publish)


@bug
def inbox_read_from_its_end(stack: ExitStack) -> None:
    """Of many new rows in its tasks' inboxes a Scheduler hears the last."""

    async def read(self: Intake, now: float) -> None:
        rows = await self._store.read_inbox(self._instance, self._cursor)
        for row in rows[-ROWS_AT_ONCE:]:
            self._cursor = max(self._cursor, row.number)
            active = self._active_tasks.tasks.get(row.task)
            if active is not None:
                self._inbox.receive(active, row, now)

    put(stack, Intake, "_read_inbox", read)


@bug
def signal_recorded_with_another_payload(stack: ExitStack) -> None:
    """Workflow code is given, and the record says, another payload than the one that was sent."""
    original = Execution.signal

    def signal(self: Execution, number: int, name: str, payload: bytes, at: float) -> None:
        original(self, number, name, b"0", at)

    put(stack, Execution, "signal", signal)


@bug
def result_of_child_lost(stack: ExitStack) -> None:
    """A parent is given null for what its child gave."""
    original = child_tasks.reply_of

    def reply_of(body: bytes, step: Any) -> Any:
        reply = original(body, step)
        return replace(reply, output=b"null") if reply.output is not None else reply

    put(stack, child_tasks, "reply_of", reply_of)


@bug
def doubt_erased_by_a_repair(stack: ExitStack) -> None:
    """A step with an edited input takes the place of an attempt in doubt."""
    put(stack, repair_rows, "doubtful", lambda steps, step: [])


def _meet_anything(record: Recordings, number: int, kind: Any, key: str, place: Any) -> Any:
    step = record._by_number.pop(number, None)
    is_another = step is not None and (step.kind, step.key) != (kind, key)
    return replace(step, key=key, kind=kind) if step is not None and is_another else step


@bug
def outcome_of_another_command_taken(stack: ExitStack) -> None:
    """Code that asks for something else than the record holds is given what the record holds."""

    put(stack, Recordings, "meet", _meet_anything)


class Uncompared(Recordings):
    """A record that is looked up by keys, without a check that all of it was used."""

    def meet(self, number: int, kind: Any, key: str, place: Any) -> Any:
        found = next((at for at, step in self._by_number.items() if (step.kind, step.key) == (kind, key)), None)
        return self._by_number.pop(found) if found is not None else None

    def next_due(self, asked: int) -> Any:
        while self._deliveries:
            due = self._deliveries.pop()
            target = self._targets.pop(due.key, None)
            if target is not None and not target.cancelled():
                return due, target
        return None

    def conclude(self, asked: int) -> None:
        """Checks nothing."""

    def check_end(self, asked: int, how: str) -> None:
        """Checks nothing."""


def _trust(stack: ExitStack, is_trusted: Callable[[object, object], bool]) -> None:
    """Compare no records of tasks that are taken up by code that is trusted, seeing whose code held them before."""
    trusts = False
    original = Advance.admit
    last: dict[str, object] = {}

    def admit(self: Advance, active: Any, history: Any, now: float) -> None:
        nonlocal trusts
        task = active.task
        before, last[task.uid] = last.get(task.uid), self._registry.workflows.get((task.workflow, task.version))
        trusts = is_trusted(before, last[task.uid])
        try:
            original(self, active, history, now)
        finally:
            trusts = False

    put(stack, Advance, "admit", admit)
    put(stack, run_record, "Recordings", lambda steps: Uncompared(steps) if trusts else Recordings(steps))


@bug
def new_code_not_compared(stack: ExitStack) -> None:
    """Code that was deployed again is taken for code that fits."""
    _trust(stack, lambda before, code: before not in (None, code))


@bug
def same_code_not_compared(stack: ExitStack) -> None:
    """Code that was not deployed again is taken for code that fits, whatever it reads as it runs."""
    _trust(stack, lambda before, code: before is code)


@bug
def rest_of_a_record_unnoticed(stack: ExitStack) -> None:
    """Code that ends goes by what it did, whatever else the record holds."""
    put(stack, Recordings, "check_end", lambda self, asked, how: None)


@bug
def interrupt_of_an_operation_let_through(stack: ExitStack) -> None:
    """An operation that raises KeyboardInterrupt ends the process that runs it."""

    def let_through(error: BaseException) -> Any:
        raise error

    put(stack, call_execution, "failure_of", let_through)
    put(stack, call_lifecycle, "failure_of", let_through)


@bug
def runs_before_the_last_not_undone(stack: ExitStack) -> None:
    """Undo takes back what the task's last run did."""
    original = undo_planner.UndoOrder.plan

    def plan(order: undo_planner.UndoOrder, now: float) -> Any:
        last = max((step.run for step in order.steps), default=1)
        return original(undo_planner.UndoOrder([step for step in order.steps if step.run == last]), now)

    put(stack, undo_planner.UndoOrder, "plan", plan)


@bug
def late_runs_share_their_keys(stack: ExitStack) -> None:
    """An idempotency key tells the first runs of a task apart, and not those after them."""
    original = request_for

    def request(task: Any, step: Any, instance: str) -> Any:
        key = idempotency_key(step.task, min(step.run, RUNS_TOLD_APART), step.key, step.generation)
        return replace(original(task, step, instance), idempotency_key=key)

    put(stack, dispatcher, "request_for", request)


@bug
def newest_signal_first(stack: ExitStack) -> None:
    """Of signals that came while a task was out of memory, the newest is taken first."""
    original = Advance.admit

    def admit(self: Advance, active: Any, history: Any, now: float) -> None:
        original(self, active, replace(history, inbox=history.inbox[::-1]), now)

    put(stack, Advance, "admit", admit)


@bug
def breaker_never_asks(stack: ExitStack) -> None:
    """After an outage of a service, no probe finds that it is back."""
    put(stack, Breaker, "wait", lambda self, now: 0.0 if self.state is BreakerState.CLOSED else 1.0)


@bug
def failed_undo_taken_for_done(stack: ExitStack) -> None:
    """An undo that the service refuses counts as done."""
    original = TaskUndo._answered

    def answered(self: TaskUndo, active: Any, step: Any, reply: Any, now: float) -> None:
        is_failed = step.kind is StepKind.UNDO and reply.outcome is Outcome.FAILED
        done = replace(reply, outcome=Outcome.COMPLETED, output=b"null", error=None) if is_failed else reply
        original(self, active, step, done, now)

    put(stack, TaskUndo, "_answered", answered)


@bug
def replies_recorded_unread(stack: ExitStack) -> None:
    """What Agents send is recorded as it comes."""
    put(stack, inbox, "checked", lambda reply, limit, operations: reply)
    put(stack, replies, "checked", lambda reply, limit, operations: reply)


@bug
def hangs_not_counted(stack: ExitStack) -> None:
    """A task whose code hangs is given to one process after the other."""
    put(stack, supervisor_rows, "MOST_HANGS", 1_000)


OF_HARSH_WORLDS = (
    deadlines_by_own_timers,
    undone_key_lost_on_the_way,
    inbox_read_from_its_end,
    signal_recorded_with_another_payload,
    result_of_child_lost,
    doubt_erased_by_a_repair,
    outcome_of_another_command_taken,
    new_code_not_compared,
    same_code_not_compared,
    rest_of_a_record_unnoticed,
    interrupt_of_an_operation_let_through,
    runs_before_the_last_not_undone,
    late_runs_share_their_keys,
    newest_signal_first,
    breaker_never_asks,
    failed_undo_taken_for_done,
    replies_recorded_unread,
    hangs_not_counted,
)
