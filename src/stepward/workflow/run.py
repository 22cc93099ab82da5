"""One run as workflow code meets it: it asks for steps, signals, timers and values, and waits."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextvars import Context
from typing import Any
from zlib import crc32

from stepward.durations import text
from stepward.model.action import Action
from stepward.model.records import Step, Task
from stepward.model.states import StepKind
from stepward.payload import NULL, decode, encode
from stepward.workflow.decisions import Broken, End
from stepward.workflow.definition import Workflow
from stepward.workflow.endings import failed
from stepward.workflow.handles import Timer
from stepward.workflow.ledger import Ledger
from stepward.workflow.loop import WorkflowLoop
from stepward.workflow.recordings import OPEN, Recordings, difference, has_outcome
from stepward.workflow.signals import Signals, Wait
from stepward.workflow.timers import Timers

SIDE_EFFECT = "side_effect"
SETTING_OUT = "continue_as_new/1"
"""The record of when a run after the first began."""
LOCAL = frozenset({StepKind.LOCAL, StepKind.TRANSACTION})
CHANGED = "give the changed workflow a new version"


class Run:
    """What is asked for, waited for and recorded; ``replaying`` while recorded outcomes come again."""

    __slots__ = (
        "_max_steps",
        "_random",
        "beside",
        "ended",
        "ledger",
        "loop",
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
        recordings: Recordings | None,
        *,
        payload_limit: int,
        max_steps: int,
    ) -> None:
        self.workflow = workflow
        self.task = task
        self.recordings = recordings
        self.replaying = recordings is not None
        self.ended: End | None = None
        self.ledger = Ledger(
            number=recordings.highest_number if recordings else 0,
            ordinal=recordings.highest_ordinal if recordings else 0,
        )
        self.pending: dict[str, asyncio.Future[bytes]] = {}
        self.timers = Timers()
        self.signals: Signals | None = None
        now = task.created_at if task.started_at is None else task.started_at
        seed = crc32(f"{task.uid}/{task.run}".encode())
        # What the class lacks of asyncio's interface are the methods that its decorator refuses.
        self.loop = WorkflowLoop(self, now=now, seed=seed)  # type: ignore[abstract]
        self.payload_limit = payload_limit
        self._max_steps = max_steps
        self._random: random.Random | None = None
        self.beside: dict[str, Action[Any, Any]] = {}
        """The actions of pending local steps, which the Scheduler performs itself."""

    def set_out(self, at: float | None) -> None:
        """Begin the run's time: as recorded, else a later run's at ``at``, else with the task itself."""
        step = None if self.recordings is None else self.recordings.take(SETTING_OUT)
        if step is not None and step.output is not None:
            self.loop.now = decode(step.output, SETTING_OUT, float)
        elif at is not None and self.task.run > 1 and self.recordings is None:
            self.loop.now = at
            output = encode(at, SETTING_OUT)
            self.ledger.record(StepKind.VALUE, SETTING_OUT, input=NULL, output=output, at=at)

    async def call(
        self, action: Action[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any], key: str | None = None
    ) -> Any:
        """Ask for a step and wait for its outcome; see ``Caller.call``."""
        future = self._new_future()
        if self.loop.halted:
            await self._stay(future)
        input = action.signature.pack(args, kwargs, limit=self.payload_limit)
        if key is None:
            key = self.ledger.next_key(action.name)
        step = None if self.recordings is None else self._recorded(key, action.kind, input)
        if step is not None:
            self._meet(step, future)
        elif not self.loop.halted:
            self.pending[key] = future
            self.ledger.call(key, action, input)
            self._check_length()
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
        future = self._new_future()
        if self.loop.halted:
            await self._stay(future)
        key = self.ledger.next_key(f"signal:{name}")
        step = self._recorded(key, StepKind.SIGNAL, NULL)
        if step is not None:
            self._meet(step, future)
        else:
            self.open_signals().waits.append(Wait(key, name, future))
        timer = None if timeout is None else self.loop.call_later(timeout, _expire, future, name, timeout)
        try:
            return await future
        finally:
            self._stop_waiting(key, timer)

    def side_effect(self, fn: Callable[[], Any]) -> bytes:
        """The JSON of what ``fn`` gave when it was first called; recorded at once."""
        key = self.ledger.next_key(SIDE_EFFECT)
        step = self._recorded(key, StepKind.VALUE, NULL)
        self.loop.check_usable()
        if step is not None and step.output is not None:
            return step.output
        output = encode(fn(), key, limit=self.payload_limit)
        self.ledger.record(StepKind.VALUE, key, input=NULL, output=output, at=self.loop.now)
        self._check_length()
        self.loop.check_usable()
        return output

    def set_timer(
        self, delay: float, callback: Callable[..., object], args: tuple[Any, ...], context: Context
    ) -> Timer:
        """A timer of this run; one that the record holds as fired fires at its ordinal."""
        timer = self.timers.make(callback, args, context, self.loop.now, delay)
        if self.loop.halted:
            return timer
        step = None if self.recordings is None else self._recorded(timer.key, StepKind.TIMER, timer.input)
        if step is None:
            self.timers.add(timer)
        elif self.recordings is not None:
            self.recordings.expect(step, timer)
        return timer

    def chance(self) -> random.Random:
        """The run's own source of chance, alike in every replay."""
        self.loop.check_usable()
        if self._random is None:
            self._random = random.Random(f"{self.task.uid}/{self.task.run}")
        return self._random

    def end(self, end: End) -> None:
        """The workflow is over and abandons what it still waits for, unless the record goes further."""
        if self.ended is not None or self.loop.closing:
            return
        unmet = None if self.recordings is None else self.recordings.unmet()
        if unmet is not None:
            self.break_off(
                f"step {unmet.key}: the record holds its outcome as delivered (ordinal {unmet.ordinal}), "
                f"the workflow ended ({type(end).__name__.lower()}) without waiting for it; {CHANGED}"
            )
            return
        self.ended = end
        self.loop.halted = True
        for key in self.pending:
            self.ledger.abandon(key)

    def break_off(self, message: str) -> None:
        """The replay does not fit the record, or workflow code did what none may: nothing else is decided."""
        if self.ended is None:
            task = self.task
            self.ledger.drop()
            self.ended = Broken(f"task {task.id} ({task.workflow}@{task.version}, run {task.run}): {message}")
            self.loop.halted = True

    def close(self) -> None:
        """Close what is suspended and forget everything that could still come."""
        self.loop.close_all()
        self.pending.clear()
        self.timers.clear()
        self.signals = self.recordings = self._random = None

    def open_signals(self) -> Signals:
        """The signals of the run, made when the first comes or is waited for."""
        if self.signals is None:
            self.signals = Signals()
        return self.signals

    def _new_future(self) -> asyncio.Future[bytes]:
        # A plain one: asyncio's C code awaits those fastest, and no set ever holds this future.
        return asyncio.Future(loop=self.loop)

    async def _stay(self, future: asyncio.Future[bytes]) -> None:
        # An execution that is over stops its code by silence: an exception could be caught.
        if self.loop.closing:
            raise GeneratorExit
        await future

    def _recorded(self, key: str, kind: StepKind, input: bytes) -> Step | None:
        step = None if self.recordings is None else self.recordings.take(key)
        differs = None if step is None else difference(step, kind, input)
        if differs is not None:
            self.break_off(f"step {key}: {differs}; {CHANGED}")
            return None
        return step

    def _meet(self, step: Step, future: asyncio.Future[bytes]) -> None:
        if self.recordings is not None and has_outcome(step):
            self.recordings.expect(step, future)
        elif step.state in OPEN:
            self.pending[step.key] = future

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
        if self.ledger.number > self._max_steps:
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
