"""The workflow engine: history in, decisions out. It reads no clock and does no I/O.

Outcomes are delivered one at a time, and the workflow is driven until quiet between two. The order of
delivery is recorded, and how much had been asked for at each; a replay follows both, and stops at the first
difference. What the workflow asks for beyond the record is decided only at the record's end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import Context
from typing import Any

from stepward.errors import InvalidArguments
from stepward.model.action import Action
from stepward.model.failures import FailureConverter
from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState
from stepward.model.tasks.updates import described
from stepward.payload import NULL, PAYLOAD_BYTES
from stepward.runtime.interrupts import pass_interrupt
from stepward.workflow.decisions import Continued, Decisions, RunEnd
from stepward.workflow.definition import Workflow
from stepward.workflow.event_loop.futures import Timer
from stepward.workflow.recorded_values import set_out
from stepward.workflow.replay.run_record import RunReplay
from stepward.workflow.run_commands import Run
from stepward.workflow.run_ends import failed, raised, returned, step_failed
from stepward.workflow.waits.signals import Signal
from stepward.workflow.waits.untaken_signals import untaken

MAX_STEPS = 50_000
SLICE = 1_000
"""Callbacks of a workflow after which the process's own loop goes on; about as many steps begin in them."""
PLAIN_FAILURES = FailureConverter()


class Execution:
    """One run of a task in memory."""

    __slots__ = ("_most", "_payload_limit", "_run", "_started", "is_cut", "task", "workflow")

    def __init__(
        self,
        workflow: Workflow[Any, Any],
        task: Task,
        steps: Sequence[Step],
        *,
        payload_limit: int = PAYLOAD_BYTES,
        max_steps: int = MAX_STEPS,
        failures: FailureConverter = PLAIN_FAILURES,
        former: Execution | None = None,
    ) -> None:
        """``former`` is the run before, ended by ``continue_as_new``: the signals that it has not taken are for this
        one."""
        self.workflow = workflow
        self.task = task
        self._payload_limit = payload_limit
        self._started = self.is_cut = False
        """Whether it goes on by ``go_on``: no outcome is delivered before its callbacks have run."""
        self._most: int | None = None
        self._run = Run(workflow, task, steps, payload_limit=payload_limit, max_steps=max_steps, failures=failures)
        if former is not None:
            self._run.signals = untaken(former._run.signals, former._run.ended)

    def start(self, at: float | None = None, *, in_slices: bool = False) -> None:
        """Run the workflow up to its first waits, then deliver every recorded outcome in order of ordinal.

        ``at`` is the store's time: a run that ``continue_as_new`` began sets out then, and records it. ``in_slices``:
        where it has many callbacks to run, now or after an outcome, it stops after some, ``is_cut``, until ``go_on``.
        """
        self._started, self._most = True, SLICE if in_slices else None
        if self.task.run > 1:
            set_out(self._run, at)
        try:
            args, kwargs = self.workflow.signature.unpack(self.task.input)
        except InvalidArguments as error:
            self._run.end(failed("InvalidArguments", str(error)))
        else:
            self._run.loop.new_task(self._main(args, kwargs), context=Context())
        self._advance()

    def go_on(self) -> None:
        """Run the next of the callbacks that are left."""
        self._advance()

    def resolve(self, key: str, *, output: bytes | None, error: bytes | None, at: float) -> None:
        """Deliver a live outcome: JSON output, or the JSON error object of a failed step (StepFailed).

        ``at`` must be the step's recorded ``finished_at``. An outcome that is not awaited changes nothing.
        """
        run = self._run
        if self.is_cut:
            self._finish()
        future = run.pending.pop(key, None)
        if future is None:
            return
        run.replaying = False
        run.ledger.deliver(key)
        run.loop.now = max(run.loop.now, at)
        if error is None:
            future.set_result(NULL if output is None else output)
        else:
            future.set_exception(step_failed(key, error))
        self._advance()

    def signal(self, number: int, name: str, payload: bytes, at: float) -> None:
        """Queue a signal, the inbox row ``number``; one ``wait_for`` takes it, perhaps of the next run."""
        if self._run.ended is None:
            self._run.open_signals().put(name, Signal(number, payload, at))
            if self._started:
                self._advance()
        elif isinstance(self._run.ended, Continued):
            self._run.open_signals().put(name, Signal(number, payload, at))

    def fire(self, now: float) -> None:
        """Fire the timers due at ``now``, one delivery each; timers made meanwhile wait for the next time."""
        timers = self._run.timers
        if timers is None:
            return
        newest = timers.count
        while not self.is_cut and self._run.ended is None and (timer := timers.pop_due(now, newest)) is not None:
            self._deliver_timer(timer, now)
            self._advance()

    def take(self) -> Decisions:
        """The decisions since the last call."""
        return self._run.ledger.take(self._run.ended)

    def discard(self, most: int | None = None) -> bool:
        """Leave memory: whatever is suspended is closed, and what it does on the way decides nothing.

        At most so many of its asyncio tasks are closed; whether none is left.
        """
        is_closed = self._run.close(most)
        self._run.ledger.drop()
        return is_closed

    def pending_action(self, key: str) -> Action[Any, Any] | None:
        """What a local step that was asked for calls; None if the workflow did not ask for it."""
        return None if self._run.beside is None else self._run.beside.get(key)

    @property
    def ended(self) -> RunEnd | None:
        """How the run ended, if it did."""
        return self._run.ended

    @property
    def other_input(self) -> str | None:
        """Where the arguments of a step differ from those that the record holds, if they do."""
        return None if self._run.replay is None else self._run.replay.other_input

    @property
    def replaying(self) -> bool:
        """Whether recorded outcomes are being delivered again."""
        return self._run.replaying

    @property
    def next_timer(self) -> float | None:
        """When the next timer is due."""
        timers = self._run.timers
        return None if timers is None else timers.next_at()

    @property
    def waits_for(self) -> str | None:
        """What operators see: ``signal approval``, ``payments.charge/1, +2 more``, ``timer``."""
        run = self._run
        wait = None if run.signals is None else run.signals.first
        count = len(run.pending) + (0 if run.signals is None else len(run.signals))
        if count == 0:
            return None if self.next_timer is None else "timer"
        first = described(wait.name) if wait is not None else next(iter(run.pending))
        return first if count == 1 else f"{first}, +{count - 1} more"

    async def _main(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        try:
            coroutine = self.workflow.fn(*args, **kwargs)
            del args, kwargs  # what the function needs of them, it holds
            end: RunEnd = returned(await coroutine, self.workflow.name, limit=self._payload_limit)
        except BaseException as error:  # whatever leaves the workflow is its end
            pass_interrupt(error)
            if self._run.loop.halted:
                return  # It was closed, which ends nothing.
            end = raised(error, self.workflow.name, self._run.failures)
        self._run.end(end)

    def _advance(self) -> None:
        run = self._run
        run.loop.drive(self._deliver_next, self._most)
        self.is_cut = run.loop.is_cut
        if run.ended is None and not self.is_cut:
            run.replaying = False
            if not run.pending:
                self._check_waiting()
        if run.ended is not None:
            run.close(SLICE)  # what a wide run has left is closed when it leaves memory

    def _finish(self) -> None:
        """Run all callbacks that are left: an outcome is to be delivered."""
        most, self._most = self._most, None
        self._advance()
        self._most = most

    def _deliver_next(self) -> bool:
        """Deliver one outcome that is at hand; recorded ones come first."""
        run = self._run
        if run.replay is not None and self._deliver_recorded(run.replay):
            return True
        return run.ended is None and run.signals is not None and self._deliver_signal()

    def _deliver_recorded(self, replay: RunReplay) -> bool:
        if replay.recordings is not None and self._deliver_again():
            return True
        late = replay.next_late() if replay.late and self._run.ended is None else None
        if late is None:
            return False
        self._deliver_late(*late)
        return True

    def _deliver_again(self) -> bool:
        run = self._run
        due = run.next_recorded()
        if due is None:
            return False
        step, target = due
        run.replaying = True
        if isinstance(target, Timer):
            self._pass_time(step.finished_at)
            run.loop.run_timer(target)
        else:
            self._settle(step, target)
        return True

    def _deliver_late(self, step: Step, future: asyncio.Future[bytes]) -> None:
        self._run.replaying = False
        self._run.ledger.deliver(step.key)
        self._settle(step, future)

    def _settle(self, step: Step, future: asyncio.Future[bytes]) -> None:
        self._pass_time(step.finished_at)
        if step.state is StepState.FAILED or step.output is None:
            future.set_exception(step_failed(step.key, step.error))
        else:
            future.set_result(step.output)

    def _deliver_timer(self, timer: Timer, at: float) -> None:
        run = self._run
        run.replaying = False
        self._pass_time(at)
        run.ledger.record(StepKind.TIMER, timer.key, timer.command, input=timer.input, output=NULL, at=at)
        run.loop.run_timer(timer)

    def _deliver_signal(self) -> bool:
        run = self._run
        signals = run.signals
        if signals is None:
            return False
        while (rejection := signals.reject()) is not None:
            run.ledger.answer(rejection)
        found = signals.take()
        if found is None:
            return False
        wait, signal = found
        run.replaying = False
        self._pass_time(signal.at)
        run.ledger.record(
            StepKind.SIGNAL,
            wait.key,
            wait.number,
            input=NULL,
            output=signal.payload,
            at=run.loop.now,
            taken=signal.number,
        )
        wait.future.set_result(signal.payload)
        return True

    def _pass_time(self, at: float | None) -> None:
        loop = self._run.loop
        if at is not None and at > loop.now:
            loop.now = at

    def _check_waiting(self) -> None:
        run = self._run
        if self.next_timer is None and not run.signals:
            name = self.workflow.name
            run.end(
                failed(
                    "WaitsForNothing",
                    f"{name}: expected to wait for a step, a timer or a signal, found it waiting for what "
                    "nothing outside can bring (a future, a lock, a queue); resolve it within the workflow",
                )
            )
