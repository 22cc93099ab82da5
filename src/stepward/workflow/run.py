"""One run as workflow code meets it: it asks for steps, signals, timers and values, and waits."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import Any
from zlib import crc32

from stepward.durations import text
from stepward.model.action import Action
from stepward.model.failures import FailureConverter
from stepward.model.records import Step, Task
from stepward.model.states import TASK_ENDS, StepKind
from stepward.payload import NULL, decode, encode
from stepward.workflow.decisions import Broken, DecisionLog, Diverged, RunEnd, StepCall
from stepward.workflow.definition import Workflow
from stepward.workflow.event_loop.futures import PLAIN, Timer
from stepward.workflow.event_loop.loop import WorkflowLoop
from stepward.workflow.replay.code_places import CodePlace
from stepward.workflow.replay.divergence import OPEN, PATCHED, Divergence, no_value
from stepward.workflow.replay.recordings import DELIVERED, CommandTarget, Recordings, has_outcome, marked, other_input
from stepward.workflow.run_ends import failed, how_ended, raised
from stepward.workflow.signals import Signals, Wait
from stepward.workflow.timers import Timers

SIDE_EFFECT = "side_effect"
SETTING_OUT = "continue_as_new/1"
"""The record of when a run after the first began."""
LOCAL = frozenset({StepKind.LOCAL, StepKind.TRANSACTION})
TRUE = b"true"
REMEDY = "serve the code that fits the record; changed code needs patched(…) or a new version"


class Run:
    """What is asked for, waited for and recorded; ``replaying`` while recorded outcomes come again."""

    __slots__ = (
        "_marked",
        "_max_steps",
        "_random",
        "beside",
        "ended",
        "failures",
        "held",
        "late",
        "ledger",
        "loop",
        "other_input",
        "payload_limit",
        "pending",
        "recordings",
        "replaying",
        "signals",
        "task",
        "timers",
        "workflow",
    )

    def __init__(
        self,
        workflow: Workflow[Any, Any],
        task: Task,
        steps: Sequence[Step],
        *,
        payload_limit: int,
        max_steps: int,
        failures: FailureConverter,
    ) -> None:
        self.workflow = workflow
        self.failures = failures
        self.task = task
        kept = [step for step in steps if step.set_aside_at is None]
        self.recordings = Recordings(kept) if kept else None
        """Until the replay is over."""
        self.replaying = bool(kept)
        self.ended: RunEnd | None = None
        self.ledger = DecisionLog(rows=len(kept), ordinal=max([step.ordinal or 0 for step in steps], default=0))
        self.pending: dict[str, asyncio.Future[bytes]] = {}
        self.held: list[StepCall] = []
        """Steps without a row that were asked for while replaying: they are asked for when the replay agrees."""
        self.late: deque[tuple[Step, asyncio.Future[bytes]]] = deque()
        """Outcomes that were recorded and never delivered."""
        self._marked = marked(kept) if kept else {}
        self.timers = Timers()
        self.signals: Signals | None = None
        now = task.created_at if task.started_at is None else task.started_at
        seed = crc32(f"{task.uid}/{task.run}".encode())
        # What the class lacks of asyncio's interface are the methods that its decorator refuses.
        self.loop = WorkflowLoop(self, now=now, seed=seed, traces=bool(kept))  # type: ignore[abstract]
        self.payload_limit = payload_limit
        self.other_input: str | None = None
        """Where the arguments of a step first differed from those that its record holds."""
        self._max_steps = max_steps
        self._random: random.Random | None = None
        self.beside: dict[str, Action[Any, Any]] = {}
        """The actions of pending local steps, which the Scheduler performs itself."""

    def set_out(self, at: float | None) -> None:
        """Begin the run's time: as recorded, else a later run's at ``at``, else with the task itself."""
        step = None if self.recordings is None else self.recordings.at(1)
        if step is not None and step.key == SETTING_OUT and step.output is not None:
            self._use(self.ledger.ask(), StepKind.VALUE, SETTING_OUT)
            self.loop.now = decode(step.output, SETTING_OUT, float)
        elif at is not None and self.task.run > 1 and self.recordings is None:
            self.loop.now = at
            self._record(self.ledger.ask(), SETTING_OUT, encode(at, SETTING_OUT))

    async def call(
        self,
        action: Action[Any, Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        key: str | None = None,
        place: CodePlace | None = None,
    ) -> Any:
        """Ask for a step and wait for its outcome."""
        # A plain one: asyncio's C code awaits those fastest, and no set ever holds this future.
        future: asyncio.Future[bytes] = PLAIN(loop=self.loop)
        if self.loop.halted:
            await self._stay(future)
        input = action.signature.pack(args, kwargs, limit=self.payload_limit)
        if key is None:
            key = self.ledger.next_key(action.name)
        number = self.ledger.ask()
        step = None if self.recordings is None else self._recorded(number, action.kind, key, place)
        if step is None and self._marked:
            step = self._marked.pop(key, None)
        if step is not None:
            self._meet(step, future, input)
        elif not self.loop.halted:
            self.pending[key] = future
            self._call(StepCall(key, number, action, input))
        if action.kind in LOCAL:
            self.beside[key] = action
        try:
            output = await future
        except BaseException:
            self._give_up(key, future)
            raise
        return action.signature.result(output)

    async def wait_for(self, name: str, timeout: float | None) -> bytes:
        """The payload of the next signal of that name; TimeoutError after ``timeout`` seconds."""
        future: asyncio.Future[bytes] = PLAIN(loop=self.loop)
        if self.loop.halted:
            await self._stay(future)
        key = self.ledger.next_key(f"signal:{name}")
        number = self.ledger.ask()
        step = self._recorded(number, StepKind.SIGNAL, key, self.loop.place())
        if step is not None:
            self._meet(step, future, NULL)
        else:
            self.open_signals().add(Wait(key, number, name, future))
        timer = None if timeout is None else self.loop.call_later(timeout, _expire, future, name, timeout)
        try:
            return await future
        finally:
            self._stop_waiting(key, timer)

    def side_effect(self, fn: Callable[[], Any], name: str = SIDE_EFFECT) -> bytes:
        """The JSON of what ``fn`` gave when it was first called; recorded at once."""
        self.loop.check_usable()
        key = self.ledger.next_key(name)
        number = self.ledger.ask()
        recorded = self._use(number, StepKind.VALUE, key)
        self.loop.check_usable()
        if recorded is not None:
            return recorded
        output = encode(fn(), key, limit=self.payload_limit)
        self._record(number, key, output)
        self._check_length()
        self.loop.check_usable()
        return output

    def patched(self, name: str) -> bool:
        """Whether the code goes the new way here: always beyond the record, else where the record has the marker."""
        self.loop.check_usable()
        number = self.ledger.asked + 1
        if not self._is_marked(number, f"{PATCHED}{name}"):
            return False
        key = self.ledger.next_key(f"{PATCHED}{name}")
        if self._use(self.ledger.ask(), StepKind.VALUE, key) is None:
            self._record(number, key, TRUE)
            self._check_length()
        self.loop.check_usable()
        return True

    def set_timer(
        self, delay: float, callback: Callable[..., object], args: tuple[Any, ...], context: Context
    ) -> Timer:
        """A timer of this run; one that the record holds as fired fires at its ordinal."""
        timer = self.timers.make(callback, args, context, self.loop.now, delay)
        if self.loop.halted:
            return timer
        timer.key, timer.command = self.ledger.next_key("timer"), self.ledger.ask()
        step = self._recorded(timer.command, StepKind.TIMER, timer.key, self.loop.place())
        if step is None:
            self.timers.add(timer)
        elif self.recordings is not None:
            self._compare(step, timer.input)
            self.recordings.expect(step, timer)
        return timer

    def chance(self) -> random.Random:
        """The run's own source of chance, alike in every replay."""
        self.loop.check_usable()
        if self._random is None:
            self._random = random.Random(f"{self.task.uid}/{self.task.run}")
        return self._random

    def next_recorded(self) -> tuple[Step, CommandTarget] | None:
        """The next outcome to be delivered again; None when the replay is over, or diverges."""
        if self.recordings is None:
            return None
        try:
            due = self.recordings.next_due(self.ledger.asked)
            if due is None:
                self.recordings.conclude(self.ledger.asked)
        except Divergence as difference:
            self._diverge(difference)
            return None
        if due is None:
            self._leave_replay()
        return due

    def next_late(self) -> tuple[Step, asyncio.Future[bytes]] | None:
        """The next outcome that was recorded and never delivered, and is still waited for."""
        while self.late:
            step, future = self.late.popleft()
            if not future.cancelled():
                return step, future
        return None

    def end(self, end: RunEnd) -> None:
        """The workflow is over and abandons what it still waits for, unless the record goes further."""
        if self.ended is not None or self.loop.closing:
            return
        if self.recordings is not None and not self._may_end(self.recordings, end):
            return
        self.ended = end
        self.loop.halted = True
        for key in self.pending:
            self.ledger.abandon(key)

    def leave(self, error: BaseException) -> None:
        """A task or callback of the workflow called ``sys.exit()``, or interrupted itself."""
        self.end(raised(error, self.workflow.name, self.failures))

    def break_off(self, message: str) -> None:
        """Workflow code did what none may: nothing else is decided."""
        if self.ended is None:
            self._stop(Broken(self._told(message)))

    def close(self) -> None:
        """Close what is suspended and forget everything that could still come."""
        self.loop.close_all()
        self.pending.clear()
        self.timers.clear()
        self.late.clear()
        self.held.clear()
        self.signals = self.recordings = self._random = None

    def open_signals(self) -> Signals:
        """The signals of the run, made when the first comes or is waited for."""
        if self.signals is None:
            self.signals = Signals()
        return self.signals

    async def _stay(self, future: asyncio.Future[bytes]) -> None:
        # An execution that is over stops its code by silence: an exception could be caught.
        if self.loop.closing:
            raise GeneratorExit
        await future

    def _recorded(self, number: int, kind: StepKind, key: str, place: CodePlace | None) -> Step | None:
        """The row of what the workflow asks for now, if it left one."""
        if self.recordings is None:
            return None
        try:
            return self.recordings.meet(number, kind, key, place)
        except Divergence as difference:
            self._diverge(difference)
            return None

    def _meet(self, step: Step, future: asyncio.Future[bytes], input: bytes) -> None:
        if step.input != input:
            self._compare(step, input)
        if self.recordings is not None:
            if step.ordinal is not None and step.state in DELIVERED:
                self.recordings.expect(step, future)
                return
            self.recordings.wait(step, future)
        if has_outcome(step):
            self.late.append((step, future))
        elif step.state in OPEN:
            self.pending[step.key] = future

    def _compare(self, step: Step, input: bytes) -> None:
        if self.other_input is None:
            self.other_input = other_input(step, input)

    def _use(self, number: int, kind: StepKind, key: str) -> bytes | None:
        """The recorded value of a command; None if it is new."""
        if self.recordings is None:
            return None
        place = self.loop.place()
        step = self._recorded(number, kind, key, place)
        if step is not None:
            self.recordings.use_up(step)
            return step.output
        if not self.recordings.is_beyond(number):
            self._diverge(no_value(number, kind, key, place))
        return None

    def _is_marked(self, number: int, name: str) -> bool:
        if self.recordings is not None and not self.recordings.is_beyond(number):
            step = self.recordings.at(number)
            return step is not None and step.name == name
        return self.task.state not in TASK_ENDS

    def _record(self, number: int, key: str, output: bytes) -> None:
        self.ledger.record(StepKind.VALUE, key, number, input=NULL, output=output, at=self.loop.now)

    def _call(self, call: StepCall) -> None:
        if self.recordings is not None:
            self.held.append(call)
            return
        self.ledger.call(call)
        if self.ledger.rows > self._max_steps:
            self._check_length()

    def _leave_replay(self) -> None:
        """The replay agrees: what it asked for anew is asked for now."""
        self.recordings, self.loop.traces = None, False
        held, self.held = self.held, []
        for call in held:
            if call.key in self.pending:
                self.ledger.call(call)
        self._check_length()

    def _may_end(self, recordings: Recordings, end: RunEnd) -> bool:
        try:
            recordings.check_end(self.ledger.asked, how_ended(end))
        except Divergence as difference:
            self._diverge(difference)
            return False
        self._leave_replay()
        return self.ended is None

    def _diverge(self, difference: Divergence) -> None:
        if self.ended is None:
            self._stop(Diverged(self._told(f"{difference}; {REMEDY}"), difference.place))

    def _stop(self, end: Broken | Diverged) -> None:
        self.ledger.drop()
        self.ended = end
        self.loop.halted = True

    def _told(self, message: str) -> str:
        task = self.task
        return f"task {task.id} ({task.workflow}@{task.version}, run {task.run}): {message}"

    def _give_up(self, key: str, future: asyncio.Future[bytes]) -> None:
        if self.pending.get(key) is future and not self.loop.halted:
            del self.pending[key]
            self.ledger.abandon(key)

    def _stop_waiting(self, key: str, timer: Timer | None) -> None:
        if timer is not None:
            timer.cancel()
        if self.signals is not None:
            self.signals.withdraw(key)

    def _check_length(self) -> None:
        if self.ledger.rows > self._max_steps:
            self.end(
                failed(
                    "HistoryTooLong",
                    f"{self.task.workflow}: expected at most {self._max_steps:,} steps in a run, found more; "
                    "end the run with continue_as_new(…) and go on in a new one",
                )
            )


def _expire(future: asyncio.Future[bytes], name: str, timeout: float) -> None:
    if not future.done():
        future.set_exception(TimeoutError(f"no signal {name!r} within {text(timeout)}"))
