"""An event loop with virtual time and no input or output: the seed says what runs next, timers what time it is.

Everything a simulated process runs carries the process's lane in its context. Within a lane callbacks keep asyncio's
order; between lanes, and between timers due at one instant, chance decides. A lane can be parked (a stopped process)
or closed (a dead one, of which nothing runs any more).
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import random
import sys
import warnings
import weakref
from collections import deque
from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import Any, NoReturn

from stepward.runtime.interrupts import pass_interrupt

CALLBACKS_AT_ONCE = 20_000
"""Callbacks without any time passing after which the run is held to be a livelock."""
TASKS_KEPT = 256


class ProcessLane:
    """What one simulated process has ready to run, and the tasks that it ever started."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ready: deque[asyncio.Handle] = deque()
        self.parked = False
        self.stalled = False
        """Whether a callback of it stands still in the middle, see ``SimulationLoop.stall``."""
        self.closed = False
        self.rate = 1.0
        """How fast the clock of this process runs: its timers, and what it reads as ``loop.time()``."""
        self.tasks: dict[asyncio.Task[Any], None] = {}

    def keep(self, task: asyncio.Task[Any]) -> None:
        """Remember a task, so that it can be torn down with the process."""
        self.tasks[task] = None
        if len(self.tasks) > TASKS_KEPT:
            self.tasks = {known: None for known in self.tasks if not known.done()}

    def close(self) -> None:
        """Stops all code of this lane; its coroutines are closed where they are suspended."""
        self.closed = True
        self.ready.clear()
        for task in list(self.tasks):
            if not task.done():
                _close_quietly(task)
        self.tasks.clear()


LANE: ContextVar[ProcessLane | None] = ContextVar("stepward_simulated_lane", default=None)
"""The lane of the process that runs here; None is the world around the processes."""


class Stalled(Exception):
    """Raised when nothing is ready and no timer is set, or when callbacks run for ever without time passing."""


class BrokenOff(Exception):
    """The run was ended from inside: what was to be found is found."""


class SimulationLoop(asyncio.BaseEventLoop):
    """``time()`` starts at 0; only timers move it. Threads, executors and sockets raise."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.callbacks = 0
        """How many callbacks have run."""
        self.world = ProcessLane("world")
        self.current = self.world
        """The lane whose callback runs now; also inside a workflow, whose context is its own."""
        self.torn_down: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()
        """Tasks of dead processes: what they still raise is ignored."""
        self._chance = chance
        self._instant = 0.0
        self._since = 0
        self._lanes = [self.world]
        self._timers: list[tuple[float, float, int, asyncio.TimerHandle]] = []
        self._numbers = 0
        self._halting = False
        self._broken_off = False
        self._escaped: Callable[[ProcessLane, BaseException], None] | None = None

    def on_escape(self, escaped: Callable[[ProcessLane, BaseException], None]) -> None:
        """Call ``escaped`` when a process's callback raises what would end a real process."""
        self._escaped = escaped

    def time(self) -> float:
        """Seconds since the start by the clock of the process that runs now, which may be fast or slow."""
        return self._instant * self.current.rate

    def instant(self) -> float:
        """Virtual seconds since the start, the same in all processes."""
        return self._instant

    def open_lane(self, name: str) -> ProcessLane:
        """The lane of a new process."""
        lane = ProcessLane(name)
        self._lanes.append(lane)
        return lane

    def close_lane(self, lane: ProcessLane) -> None:
        """End a process between two of its callbacks."""
        self.torn_down.update(lane.tasks)
        if lane in self._lanes:
            self._lanes.remove(lane)
        lane.close()

    def break_off(self) -> None:
        """End the run after the callback that runs now."""
        self._broken_off = True

    def stall(self, seconds: float) -> None:
        """Stand still in the middle of this callback, while all others run for so long."""
        lane, until = self.current, self._instant + seconds
        running = asyncio._get_running_loop()  # that of a workflow, maybe
        # Before Python 3.14 each loop has a current task, since then the thread has one.
        holder = running if sys.version_info >= (3, 14) else self
        task = None if holder is None else asyncio.current_task(holder)
        if holder is not None and task is not None:
            asyncio.tasks._leave_task(holder, task)
        asyncio._set_running_loop(self)
        # A workflow's hooks would take the generators of all others that run, and close them with its own.
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(self._asyncgen_firstiter_hook, self._asyncgen_finalizer_hook)  # type: ignore[attr-defined]
        lane.stalled = True
        try:
            while self._instant < until and not self._halting and not lane.closed:
                self._step(until)
        finally:
            lane.stalled = False
            self.current = lane
            sys.set_asyncgen_hooks(*hooks)
            asyncio._set_running_loop(running)
            if holder is not None and task is not None:
                asyncio.tasks._enter_task(holder, task)

    def call_soon(  # type: ignore[override]  # the arguments of the callback go unchecked
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Put a callback behind those of its lane."""
        handle = asyncio.Handle(callback, args, self, context)
        lane = handle._context.get(LANE) or self.world  # type: ignore[attr-defined]
        owner = getattr(callback, "__self__", None)
        if lane.closed:
            if isinstance(owner, asyncio.Task):
                _close_quietly(owner)
            return handle
        if isinstance(owner, asyncio.Task):
            lane.keep(owner)
        lane.ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Put a callback into its lane once ``delay`` seconds have passed by the lane's own clock."""
        return self.call_at(self._instant * self.current.rate + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Put a callback into its lane at an instant; those of one instant come in any order."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._numbers += 1
        instant = max(when / self.current.rate, self._instant)
        heapq.heappush(self._timers, (instant, self._chance.random(), self._numbers, timer))
        return timer

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> NoReturn:  # type: ignore[override]
        """Refuse: a simulated process has one thread."""
        raise RuntimeError(f"simulation: expected no thread, found {func!r} given to an executor; pass threads=False")

    def _run_once(self) -> None:
        while not self._halting:
            self._step(None)
        self._halting = False
        super().stop()

    def stop(self) -> None:
        """See ``asyncio``: end ``run_forever`` after the callback that runs now."""
        self._halting = True

    def _step(self, until: float | None) -> None:
        lane = self._next_lane()
        if lane is None:
            self._advance(until)
            return
        handle = lane.ready.popleft()
        if not handle.cancelled():
            self._run(lane, handle)

    def _run(self, lane: ProcessLane, handle: asyncio.Handle) -> None:
        self.current = lane
        self.callbacks += 1
        self._since += 1
        if self._since > CALLBACKS_AT_ONCE:
            what = getattr(getattr(handle._callback, "__self__", None), "get_coro", lambda: "a callback")()  # type: ignore[attr-defined]
            name = getattr(what, "__qualname__", what)
            raise Stalled(
                f"{CALLBACKS_AT_ONCE:,} callbacks ran at {self._instant} and no time passed: {lane.name} {name}"
            )
        try:
            handle._run()
        except (KeyboardInterrupt, SystemExit) as error:
            pass_interrupt(error)
            if self._escaped is None or lane is self.world:
                raise
            self._escaped(lane, error)
        self.current = self.world
        if self._broken_off:
            raise BrokenOff

    def _next_lane(self) -> ProcessLane | None:
        able = [lane for lane in self._lanes if lane.ready and not lane.parked and not lane.stalled]
        if len(able) > 1:
            return able[int(self._chance.random() * len(able))]
        return able[0] if able else None

    def _advance(self, until: float | None) -> None:
        timers = self._timers
        while timers and timers[0][3].cancelled():
            heapq.heappop(timers)
        if until is not None and (not timers or timers[0][0] > until):
            self._instant, self._since = until, 0
            return
        if not timers:
            raise Stalled("nothing is ready and no timer is set")
        if timers[0][0] > self._instant:
            self._instant, self._since = timers[0][0], 0
        while timers and timers[0][0] <= self._instant:
            timer = heapq.heappop(timers)[3]
            lane = timer._context.get(LANE) or self.world  # type: ignore[attr-defined]
            if not lane.closed:
                lane.ready.append(timer)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are dropped when their instant comes."""

    def _asyncgen_finalizer_hook(self, agen: Any) -> None:
        """Generators of the dead are left where they stand."""

    def _process_events(self, event_list: Any) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Never sleeps in a selector."""


def _close_quietly(task: asyncio.Task[Any]) -> None:
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    coroutine: Any = task.get_coro()
    with warnings.catch_warnings(), contextlib.suppress(BaseException):
        # Some have not even begun, and what awaits on its way out is left there: the process is dead.
        warnings.simplefilter("ignore", RuntimeWarning)
        coroutine.close()
