"""The event loop of a workflow: deterministic, without I/O or a clock, driven by hand by the engine.

Callbacks run in the order in which they were asked for; timers fire only when the engine says so; time is the
stored time of the last outcome delivered.
"""

from __future__ import annotations

import sys
from asyncio import _get_running_loop, _set_running_loop
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextvars import Context, copy_context
from typing import Any, NoReturn

from stepward.model.action import Action, Caller
from stepward.runtime.interrupts import pass_interrupt
from stepward.workflow.control_flow import Halted
from stepward.workflow.event_loop.as_completed import calling_frame, listed_beside
from stepward.workflow.event_loop.asyncio_versions import forget_waiter, swap_current_task
from stepward.workflow.event_loop.coroutine_closing import (
    close_coroutine,
    close_generator,
    kept_with,
    leave_open,
    silent_warnings,
)
from stepward.workflow.event_loop.engine_port import ENDED_ENGINE, Engine
from stepward.workflow.event_loop.futures import (
    PRUNE_FROM,
    Callback,
    Timer,
    WorkflowTask,
    begin_counting,
    end_counting,
)
from stepward.workflow.event_loop.gathering import Expanded, LargeGathering, PartLoop
from stepward.workflow.event_loop.refusals import without_input_output
from stepward.workflow.replay.code_places import CodePlace, calling_place

CALLBACKS = 1_000_000
"""Callbacks in one drive after which a workflow is held to wait for nothing."""


@without_input_output
class WorkflowLoop(PartLoop, Caller):
    """One loop per execution; ``halted`` stops it for good, ``closing`` lets no operation do anything."""

    def __init__(self, engine: Engine, *, now: float, seed: int, traces: bool = False) -> None:
        self.engine: Engine = engine
        self.now = now
        self.traces = traces
        """Whether it is worth knowing which line of code asks."""
        self.halted = self.closing = False
        self.is_cut = False
        """Whether the last drive stopped with callbacks left, for the next one."""
        self._ran = 0
        """Callbacks since the workflow last began to wait."""
        self._ready: list[Callback] = []
        self._created = seed
        self._named = 0
        self._tasks: list[WorkflowTask[Any]] = []
        self._tasks_limit = PRUNE_FROM
        self._generators: list[AsyncGenerator[Any, Any]] | None = None
        self._gathers: list[LargeGathering] | None = None
        self._early: dict[Coroutine[Any, Any, Any], WorkflowTask[Any]] | None = None

    # ------------------------------------------------------------ for the engine

    def drive(self, deliver: Callable[[], bool], most: int | None = None) -> None:
        """Run until nothing is ready, and again whenever ``deliver`` has brought something; stop after about ``most``
        callbacks, which sets ``is_cut``."""
        if not self.is_cut:
            self._ran = 0
        self._inside(self._run_ready, deliver, most)

    def close_all(self, most: int | None = None) -> bool:
        """Close what is suspended, newest first, such that none of it can decide anything any more from now on.

        At most so many tasks; whether all are closed.
        """
        self.halted = self.closing = True
        left = 0 if most is None else max(0, len(self._tasks) - most)
        newest = self._tasks[left:]
        del self._tasks[left:]
        if self._generators or not all(task.done() for task in newest):
            with silent_warnings():
                self._inside(self._close_suspended, newest)
        # What is left of them must be freed at once, not when the garbage collector finds the circles.
        for task in newest:
            task.cancel()
        if self._tasks:
            return False
        for gathering in self._gathers or ():
            gathering.drop()
        self._gathers = None
        self._ready.clear()
        self.engine = ENDED_ENGINE
        return True

    def run_timer(self, timer: Timer) -> None:
        """Make the call of a timer that fires."""
        callback, timer.callback = timer.callback, None
        if callback is not None:
            self.call_soon(callback, *timer.args, context=timer.context)

    def place(self) -> CodePlace | None:
        """The line of workflow code that asks right now, where that is worth knowing."""
        return calling_place(RUN) if self.traces else None

    def check_usable(self) -> None:
        """Leave workflow code that goes on although its execution is over."""
        if self.closing:
            raise GeneratorExit
        if self.halted:
            raise Halted

    def refuse(self, what: str) -> NoReturn:
        """End the execution because workflow code tried I/O."""
        self.check_usable()
        self.engine.break_off(f"the workflow called {what}; a workflow does no I/O: move it into an operation or step")
        raise Halted

    # ------------------------------------------------------------ for workflow code and asyncio

    def call(
        self, action: Action[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any], key: str | None = None
    ) -> Coroutine[Any, Any, Any]:
        asked = self.engine.call(action, args, kwargs, key, calling_place(RUN) if self.traces else None)
        # Python's warning names it so, with the line, if it is never awaited.
        asked.__qualname__ = action.title  # type: ignore[attr-defined]
        return asked

    def time(self) -> float:
        """The stored time of the last outcome delivered."""
        return self.now

    def call_soon(  # type: ignore[override]  # a Callback is a light Handle
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Callback:
        """Call ``callback`` after everything that is ready now."""
        handle = Callback(callback, args, copy_context() if context is None else context)
        self._ready.append(handle)
        return handle

    def call_later(  # type: ignore[override]  # a Timer is a light TimerHandle
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Timer:
        """Call ``callback`` when a durable timer of ``delay`` seconds fires."""
        return self.engine.set_timer(delay, callback, args, copy_context() if context is None else context)

    def call_at(  # type: ignore[override]  # a Timer is a light TimerHandle
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Timer:
        """Call ``callback`` when a durable timer set to ``when`` fires."""
        return self.call_later(when - self.now, callback, *args, context=context)

    def create_task(  # type: ignore[override]  # coroutines only, as every caller in asyncio passes
        self, coro: Coroutine[Any, Any, Any], *, name: object = None, context: Context | None = None
    ) -> WorkflowTask[Any]:
        """A task that hashes by its order of creation; its default name counts this run's tasks alone."""
        if self.closing:
            coro.close()
            raise GeneratorExit
        early = None if self._early is None else self._early.pop(coro, None)
        if early is not None:
            return early
        listed = listed_beside(calling_frame())
        return self.new_task(coro, name, context) if listed is None else self._start_listed(coro, listed)

    def get_debug(self) -> bool:
        """Never: asyncio's debugging reads clocks and logs."""
        return False

    def get_task_factory(self) -> None:
        """None: there is no other way to make tasks. Task groups of anyio ask."""

    def is_running(self) -> bool:
        """Whether workflow code runs right now."""
        return _get_running_loop() is self

    def is_closed(self) -> bool:
        """Whether the execution is over."""
        return self.halted

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Ignore it: an error that was not retrieved decided nothing, and a replay would log it again."""

    def _timer_handle_cancelled(self, handle: object) -> None:
        """Asyncio calls this for loops that count cancelled timers; timers here count themselves."""

    def gather_many(self, calls: Sequence[Coroutine[Any, Any, Any]], *, return_exceptions: bool) -> LargeGathering:
        """``asyncio.gather`` of very many coroutines, whose tasks are made in parts."""
        gathering = LargeGathering(calls, self, return_exceptions=return_exceptions)
        self._gathers = [*(self._gathers or ()), gathering]
        return gathering

    def begun_in(self, make: Callable[[], None]) -> list[Callback]:
        """What ``make`` asks to be called, which stays out of the ready queue."""
        ready, self._ready = self._ready, []
        try:
            make()
            return self._ready
        finally:
            self._ready = ready

    def _inside(self, work: Callable[..., None], *args: Any) -> None:
        outer = _get_running_loop()
        outer_task = None if outer is None or swap_current_task is None else swap_current_task(outer, None)
        hooks = sys.get_asyncgen_hooks()
        _set_running_loop(self)
        sys.set_asyncgen_hooks(self._keep_generator, leave_open)
        begin_counting()
        try:
            work(*args)
        finally:
            end_counting()
            sys.set_asyncgen_hooks(*hooks)
            _set_running_loop(outer)
            if outer_task is not None and swap_current_task is not None:
                swap_current_task(outer, outer_task)

    def _run_ready(self, deliver: Callable[[], bool], most: int | None) -> None:
        ran, self.is_cut = 0, False
        while not self.halted:
            if not self._ready:
                if not deliver():
                    return
                self._ran = 0
                continue
            if most is not None and ran >= most:
                self.is_cut = True
                return
            batch, self._ready = (self._ready, []) if most is None else (self._ready[:most], self._ready[most:])
            self._ran += len(batch)
            if self._ran > CALLBACKS:
                self.engine.break_off(
                    f"the workflow ran {CALLBACKS:,} callbacks without waiting for anything; "
                    "wait for a step, a timer or a signal in its loop"
                )
                return
            gathers = self._gathers
            if (not self._run(batch) or self._gathers is not gathers) and most is not None:
                # To write down the calls of a large gather took long, too.
                self.is_cut = True
                return
            ran += len(batch)

    def _run(self, batch: list[Callback]) -> bool:
        """Call these; False where one of them stood for many, so that these and the rest of the batch are ready."""
        for handle in batch:
            try:
                if handle.callback is not None:
                    handle.context.run(handle.callback, *handle.args)
            except (KeyboardInterrupt, SystemExit) as error:
                # asyncio ends a loop with it; here it ends this task alone.
                pass_interrupt(error)
                self.engine.leave(error)
            except Expanded as expanded:
                ran = batch.index(handle) + 1
                self._ready = [*expanded.callbacks, *batch[ran:], *self._ready]
                self._ran -= len(batch) - ran
                return False
            except BaseException as error:
                # A failing callback stops no other.
                self.call_exception_handler({"exception": error})
            if self.halted:
                break
        return True

    def _keep_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        self._generators = kept_with(generator, self._generators or [])

    def _start_listed(
        self, coro: Coroutine[Any, Any, Any], listed: list[Coroutine[Any, Any, Any]]
    ) -> WorkflowTask[Any]:
        if coro not in listed:
            self.engine.break_off("the workflow gave as_completed coroutines without an order; pass a list, or tasks")
            return self.new_task(coro)
        self._early = {one: self.new_task(one) for one in dict.fromkeys(listed)}
        return self._early.pop(coro)

    def _close_suspended(self, newest: Sequence[WorkflowTask[Any]]) -> None:
        for task in reversed(newest):
            if not task.done():
                close_coroutine(task.get_coro(), task.context)
                forget_waiter(task)
        if not self._tasks:
            for generator in self._generators or ():
                close_generator(generator)
            self._generators = None


RUN = WorkflowLoop._run.__code__
"""What calls workflow code: no frame further out is a workflow's."""
