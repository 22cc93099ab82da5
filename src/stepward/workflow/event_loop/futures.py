"""Handles of a workflow's event loop: callbacks, timers, futures and tasks, light and alike in every process.

Tasks and futures hash by their order of creation, so that sets of them iterate alike wherever they are replayed.
``asyncio.gather`` and ``asyncio.Future()`` make futures of classes of their own, which hash by address: sets of them,
and ``asyncio.wait`` keeps such sets, would iterate otherwise in every process. While a workflow is driven the names
lead to classes that hash as all that its loop makes; on other loops (another thread's) these are as asyncio's are.
``asyncio.gather`` leads to one that makes the tasks of very many calls in parts (``gathering.py``).
"""

from __future__ import annotations

import asyncio
import asyncio.tasks
import sys
from asyncio import _get_running_loop
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context, copy_context
from types import CoroutineType
from typing import Any, TypeVar, cast

T = TypeVar("T")
PLAIN = asyncio.Future
GATHERING: Any = asyncio.tasks._GatheringFuture  # type: ignore[attr-defined]
GATHER: Any = asyncio.gather
LARGE = 1_000
"""Calls up to which ``asyncio.gather`` makes a task for each before it returns."""
PRUNE_FROM = 64
"""Tasks from which on those that have ended are forgotten."""


class _Alike(type):
    """Of a class that stands in for asyncio's: what is an instance of that one is an instance of it."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, PLAIN) if cls is CountedFuture else super().__instancecheck__(instance)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, PLAIN) if cls is CountedFuture else super().__subclasscheck__(other)


class CountedFuture(PLAIN[T], metaclass=_Alike):
    """What ``asyncio.Future()`` makes in workflow code."""

    def __init__(self, *, loop: asyncio.AbstractEventLoop | None = None) -> None:
        super().__init__(loop=loop)
        self._number = _number_of(self)

    def __hash__(self) -> int:
        return self._number


class CountedGathering(GATHERING):  # type: ignore[misc]  # asyncio's own, which has no public name
    """What ``asyncio.gather`` makes in workflow code."""

    def __init__(self, children: Sequence[PLAIN[Any]], *, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(children, loop=loop)
        self._number = _number_of(cast("PLAIN[Any]", self))

    def __hash__(self) -> int:
        return self._number


def gather(*calls: Any, return_exceptions: bool = False) -> asyncio.Future[Any]:
    """``asyncio.gather`` in workflow code."""
    loop = _get_running_loop()
    is_large = len(calls) > LARGE and isinstance(loop, Counting) and not loop.is_closed()
    if is_large and set(map(type, calls)) == {CoroutineType} and len(set(calls)) == len(calls):
        return cast("Counting", loop).gather_many(calls, return_exceptions=return_exceptions)
    gathered: asyncio.Future[Any] = GATHER(*calls, return_exceptions=return_exceptions)
    return gathered


NAMES, NAMES_OF_TASKS = vars(asyncio), vars(asyncio.tasks)

# Threads that drive workflows at once are counted. No lock: each of these statements is one step under the
# interpreter's, and they stand on the way of every step of every task.
_driven = 0


def begin_counting() -> None:
    """A workflow is driven from now on, perhaps beside one of another thread."""
    global _driven  # noqa: PLW0603  one for the process, as asyncio's names are
    _driven += 1
    if _driven == 1:
        NAMES["Future"], NAMES_OF_TASKS["_GatheringFuture"] = CountedFuture, CountedGathering
        NAMES["gather"] = gather


def end_counting() -> None:
    """Ends what ``begin_counting`` began: a workflow is no longer driven."""
    global _driven  # noqa: PLW0603
    _driven -= 1
    if _driven == 0:
        NAMES["Future"], NAMES_OF_TASKS["_GatheringFuture"] = PLAIN, GATHERING
        NAMES["gather"] = GATHER


def _number_of(future: PLAIN[Any]) -> int:
    loop = future.get_loop()
    return loop.count_created() if isinstance(loop, Counting) else id(future) >> 4


class Callback:
    """A call that stands in the ready queue; the workflow's ``asyncio.Handle``."""

    __slots__ = ("args", "callback", "context")

    def __init__(self, callback: Callable[..., object], args: tuple[Any, ...], context: Context) -> None:
        self.callback: Callable[..., object] | None = callback
        self.args = args
        self.context = context

    def cancel(self) -> None:
        """Do not make the call."""
        self.callback = None
        self.args = ()

    def cancelled(self) -> bool:
        """Whether the call was cancelled."""
        return self.callback is None

    def get_context(self) -> Context:
        """The context in which the call is made."""
        return self.context


class Timer(Callback):
    """A call at an instant; ``number`` counts the timers of a run, ``command`` is its place in the order of asking."""

    __slots__ = ("_cancelled", "at", "command", "delay", "key", "number")

    def __init__(
        self,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: Context,
        *,
        at: float,
        delay: float,
        number: int,
        cancelled: Callable[[], None],
    ) -> None:
        super().__init__(callback, args, context)
        self.at = at
        self.delay = delay
        self.number = number
        self.key = ""
        """The key of its record."""
        self.command = 0
        self._cancelled = cancelled

    def cancel(self) -> None:
        """Never fire."""
        if self.callback is not None:
            super().cancel()
            self._cancelled()

    def when(self) -> float:
        """The instant, on the loop's clock."""
        return self.at

    @property
    def input(self) -> bytes:
        """What its record holds as input: the delay in seconds, to the microsecond."""
        return repr(round(self.delay, 6)).encode()

    def __lt__(self, other: Timer) -> bool:
        return (self.at, self.number) < (other.at, other.number)


class WorkflowFuture(PLAIN[T]):
    """A future that hashes by its order of creation."""

    __slots__ = ("number",)

    def __init__(self, loop: asyncio.AbstractEventLoop, number: int) -> None:
        super().__init__(loop=loop)
        self.number = number

    def __hash__(self) -> int:
        return self.number


class WorkflowTask(asyncio.Task[T]):
    """A task that hashes by its order of creation and remembers its context."""

    __slots__ = ("context", "number")

    def __init__(
        self,
        coro: Coroutine[Any, Any, T],
        loop: asyncio.AbstractEventLoop,
        *,
        name: str,
        context: Context,
        number: int,
    ) -> None:
        self.number = number  # first: asyncio registers each new task in a set
        self.context = context
        super().__init__(coro, loop=loop, name=name, context=context)

    def __hash__(self) -> int:
        return self.number


class Counting(asyncio.AbstractEventLoop):
    """The tasks and futures of a workflow's loop, which counts what is created on it."""

    _created: int
    _named: int
    """How many tasks have a name with a number."""
    _tasks: list[WorkflowTask[Any]]
    """The tasks that have not ended, and some that have."""
    _tasks_limit: int

    def count_created(self) -> int:
        """The number of a future that is made past ``create_future``; it is what it hashes by."""
        self._created += 1
        return self._created

    def create_future(self) -> WorkflowFuture[Any]:
        """A future that hashes by its order of creation."""
        self._created += 1
        return WorkflowFuture(self, self._created)

    def new_task(
        self, coro: Coroutine[Any, Any, Any], name: object = None, context: Context | None = None
    ) -> WorkflowTask[Any]:
        """Make a task: that of the workflow's function, or one that its code asks for by ``create_task``."""
        if len(self._tasks) >= self._tasks_limit:
            self._forget_done_tasks()
        self._created += 1
        self._named += 1
        task = WorkflowTask(
            coro,
            self,
            name=sys.intern(f"Task-{self._named}") if name is None else str(name),
            context=copy_context() if context is None else context,
            number=self._created,
        )
        self._tasks.append(task)
        return task

    def gather_many(self, calls: Sequence[Coroutine[Any, Any, Any]], *, return_exceptions: bool) -> asyncio.Future[Any]:
        """``asyncio.gather`` of very many coroutines that are all different."""
        raise NotImplementedError

    def reserve_tasks(self, count: int) -> tuple[int, int]:
        """Count so many tasks as created; the number of the first, and the number in its name."""
        first = self._created + 1, self._named + 1
        self._created += count
        self._named += count
        return first

    def reserved_task(
        self, coro: Coroutine[Any, Any, Any], context: Context, *, number: int, named: int
    ) -> WorkflowTask[Any]:
        """Make a task that was counted before."""
        task = WorkflowTask(coro, self, name=f"Task-{named}", context=context, number=number)
        self._tasks.append(task)
        return task

    def _forget_done_tasks(self) -> None:
        self._tasks = [task for task in self._tasks if not task.done()]
        self._tasks_limit = max(PRUNE_FROM, len(self._tasks) * 2)
