"""One run as workflow code meets it: it asks for steps and timers, waits, and ends."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import Any
from zlib import crc32

from stepward.model.action import Action
from stepward.model.failures import FailureConverter
from stepward.model.records import Step, Task
from stepward.model.states import StepKind
from stepward.model.tasks.forks import PROVENANCE, inherited_by_forks
from stepward.payload import NULL
from stepward.workflow.decisions import Broken, DecisionLog, Diverged, RunEnd, StepCall
from stepward.workflow.definition import Workflow
from stepward.workflow.event_loop.futures import PLAIN, Timer
from stepward.workflow.event_loop.loop import WorkflowLoop
from stepward.workflow.replay.code_places import CodePlace
from stepward.workflow.replay.divergence import Divergence
from stepward.workflow.replay.run_record import CommandTarget, RunReplay
from stepward.workflow.run_ends import failed, how_ended, raised
from stepward.workflow.waits.signals import Signals
from stepward.workflow.waits.timers import Timers
from stepward.workflow.waits.untaken_signals import untaken

LOCAL = frozenset({StepKind.LOCAL, StepKind.TRANSACTION})
REMEDY = "serve the code that fits the record; changed code needs patched(…) or a new version"


class Run:
    """The run's requests, waits and records; ``replaying`` while recorded outcomes are delivered again."""

    __slots__ = (
        "_max_steps",
        "_random",
        "_seed",
        "beside",
        "ended",
        "failures",
        "ledger",
        "loop",
        "payload_limit",
        "pending",
        "replay",
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
        kept = [step for step in steps if step.set_aside_at is None and step.key != PROVENANCE]
        seed, began_at = task.uid, task.created_at if task.started_at is None else task.started_at
        if len(kept) < len(steps):
            seed, began_at = inherited_by_forks(task, steps)
        self._seed = seed
        self.replay = RunReplay(kept) if kept else None
        """The record of the run; None for a run that has none."""
        self.replaying = bool(kept)
        self.ended: RunEnd | None = None
        self.ledger = DecisionLog(rows=len(kept), ordinal=max([step.ordinal or 0 for step in steps], default=0))
        self.pending: dict[str, asyncio.Future[bytes]] = {}
        self.timers: Timers | None = None
        """Made with the first timer."""
        self.signals: Signals | None = None
        """Made when the first signal comes or is waited for; after ``continue_as_new`` those for the next run."""
        # What the class lacks of asyncio's interface are the methods that its decorator refuses.
        self.loop = WorkflowLoop(self, now=began_at, seed=crc32(f"{seed}/{task.run}".encode()), traces=bool(kept))  # type: ignore[abstract]
        self.payload_limit = payload_limit
        self._max_steps = max_steps
        self._random: random.Random | None = None
        self.beside: dict[str, Action[Any, Any]] | None = None
        """The actions of pending local steps, which the Scheduler performs itself."""

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
            await self.stay(future)
        input = action.signature.pack(args, kwargs, limit=self.payload_limit)
        del args, kwargs  # they are not kept while the step runs
        number, key = self.ledger.ask_for(action.name, key)
        step = None
        if self.replay is not None:
            step = self.recorded(number, action.kind, key, place) or self.replay.marked(key)
        if step is not None:
            self.meet(step, future, input)
        elif not self.loop.halted:
            self.pending[key] = future
            if self.replay is None or not self.replay.hold(StepCall(key, number, action, input)):
                self.ledger.call(StepCall(key, number, action, input))
                if self.ledger.rows > self._max_steps:
                    self.check_length()
        if action.kind in LOCAL:
            if self.beside is None:
                self.beside = {}
            self.beside[key] = action
        try:
            output = await future
        except BaseException:
            self._give_up(key, future)
            raise
        return action.signature.result(output)

    def set_timer(
        self, delay: float, callback: Callable[..., object], args: tuple[Any, ...], context: Context
    ) -> Timer:
        """A timer of this run; one that the record holds as fired fires at its ordinal."""
        if self.timers is None:
            self.timers = Timers()
        timer = self.timers.make(callback, args, context, self.loop.now, delay)
        if self.loop.halted:
            return timer
        timer.key, timer.command = self.ledger.next_key("timer"), self.ledger.ask()
        step = self.recorded(timer.command, StepKind.TIMER, timer.key, self.loop.place())
        if step is None or self.replay is None:
            self.timers.add(timer)
        else:
            self.replay.meet_timer(step, timer)
        return timer

    def chance(self) -> random.Random:
        """The run's own source of chance, alike in every replay."""
        self.loop.check_usable()
        if self._random is None:
            self._random = random.Random(f"{self._seed}/{self.task.run}")
        return self._random

    def recorded(self, number: int, kind: StepKind, key: str, place: CodePlace | None) -> Step | None:
        """The row of what the workflow asks for now, if it left one."""
        if self.replay is None:
            return None
        try:
            return self.replay.recorded(number, kind, key, place)
        except Divergence as difference:
            self._diverge(difference)
            return None

    def use(self, number: int, kind: StepKind, key: str) -> bytes | None:
        """The recorded value of a command; None if it is new."""
        if self.replay is None:
            return None
        try:
            return self.replay.value(number, kind, key, self.loop.place())
        except Divergence as difference:
            self._diverge(difference)
            return None

    def meet(self, step: Step, future: asyncio.Future[bytes], input: bytes) -> None:
        """Let ``future`` get the outcome of a step that has a row, recorded or to come."""
        if self.replay is not None and self.replay.meet(step, future, input):
            self.pending[step.key] = future

    def record(self, number: int, key: str, output: bytes) -> None:
        """Record a value of the engine's own, delivered at once."""
        self.ledger.record(StepKind.VALUE, key, number, input=NULL, output=output, at=self.loop.now)

    def next_recorded(self) -> tuple[Step, CommandTarget] | None:
        """The next outcome to be delivered again; None when the replay is over, or diverges."""
        if self.replay is None or self.replay.recordings is None:
            return None
        try:
            due = self.replay.next_recorded(self.ledger.asked)
        except Divergence as difference:
            self._diverge(difference)
            return None
        if due is None:
            self._leave_replay(self.replay)
        return due

    def end(self, end: RunEnd) -> None:
        """The workflow is over and abandons what it still waits for, unless the record goes further."""
        if self.ended is not None or self.loop.closing:
            return
        if self.replay is not None and not self._may_end(self.replay, end):
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
            self._stop(Broken(self._with_place(message)))

    def close(self, most: int | None = None) -> bool:
        """Close what is suspended, at most so many tasks, and forget everything that could still come; whether all
        is closed."""
        if not self.loop.close_all(most):
            return False
        self.pending.clear()
        if self.replay is not None:
            self.replay.clear()
        self.timers = self._random = None
        self.signals = untaken(self.signals, self.ended)
        return True

    def open_signals(self) -> Signals:
        """The signals of the run."""
        if self.signals is None:
            self.signals = Signals()
        return self.signals

    async def stay(self, future: asyncio.Future[bytes]) -> None:
        """Stop code that goes on although its execution is over: by silence, as an exception could be caught."""
        if self.loop.closing:
            raise GeneratorExit
        await future

    def check_length(self) -> None:
        """End a run that has more rows than a record may hold."""
        if self.ledger.rows > self._max_steps:
            self.end(
                failed(
                    "HistoryTooLong",
                    f"{self.task.workflow}: expected at most {self._max_steps:,} steps in a run, found more; "
                    "end the run with continue_as_new(…) and go on in a new one",
                )
            )

    def _leave_replay(self, replay: RunReplay) -> None:
        """The replay agrees: what it asked for beyond the record is asked for now."""
        self.loop.traces = False
        for call in replay.finish():
            if call.key in self.pending:
                self.ledger.call(call)
        self.check_length()

    def _may_end(self, replay: RunReplay, end: RunEnd) -> bool:
        if replay.recordings is None:
            return True
        try:
            replay.recordings.check_end(self.ledger.asked, how_ended(end))
        except Divergence as difference:
            self._diverge(difference)
            return False
        self._leave_replay(replay)
        return self.ended is None

    def _diverge(self, difference: Divergence) -> None:
        if self.ended is None:
            self._stop(Diverged(self._with_place(f"{difference}; {REMEDY}"), difference.place))

    def _stop(self, end: Broken | Diverged) -> None:
        self.ledger.drop()
        self.ended = end
        self.loop.halted = True

    def _with_place(self, message: str) -> str:
        task = self.task
        return f"task {task.id} ({task.workflow}@{task.version}, run {task.run}): {message}"

    def _give_up(self, key: str, future: asyncio.Future[bytes]) -> None:
        if self.pending.get(key) is future and not self.loop.halted:
            del self.pending[key]
            self.ledger.abandon(key)
