"""What the workflow's loop hands out: callbacks, timers, futures and tasks, light and alike in every process.

Tasks and futures hash by their order of creation, so that sets of them iterate alike wherever they are
replayed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar

from stepward.workflow.event_loop.futures import PLAIN

T = TypeVar("T")


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
