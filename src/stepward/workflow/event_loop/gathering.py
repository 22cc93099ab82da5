"""``asyncio.gather`` of very many calls in workflow code: their tasks are made in parts, when it is their turn to run.

asyncio's own makes all of them before it returns, and no event loop can stop in that. Numbers, names, contexts and the
order in which everything runs are those of asyncio's own, so that a record made with one is replayed with the other.
"""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextvars import copy_context
from typing import Any

from stepward.workflow.event_loop.futures import Callback, CountedGathering, Counting

PART = 500
"""Tasks that are made together."""


class Expanded(BaseException):
    """Raised by a callback that stands for these, which run in its place."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self.callbacks = callbacks


class PartLoop(Counting):
    """A loop on which tasks are made in parts."""

    def begun_in(self, make: Callable[[], None]) -> list[Callback]:
        """What ``make`` asks to be called, which stays out of the ready queue."""
        raise NotImplementedError


class LargeGathering(CountedGathering):
    """What ``asyncio.gather`` makes of very many different coroutines."""

    def __init__(self, calls: Sequence[Coroutine[Any, Any, Any]], loop: PartLoop, *, return_exceptions: bool) -> None:
        self._makes = loop
        self._calls = deque(calls)
        self._number_of_next, self._named = loop.reserve_tasks(len(calls))
        super().__init__([], loop=loop)
        self._returns_exceptions = return_exceptions
        self._count, self._finished = len(calls), 0
        self._context = copy_context()
        self._begun: list[Callback] = []
        """The first steps of tasks that were made before their turn, as the gather was cancelled."""
        loop.call_soon(self._begin, context=self._context)

    def cancel(self, msg: Any = None) -> bool:
        """Cancel all children, with those that have not begun."""
        if not self.done():
            self._make(len(self._calls))
        cancelled: bool = super().cancel(msg)
        return cancelled

    def drop(self) -> None:
        """The loop is over: no further task is made."""
        for call in self._calls:
            call.close()
        self._calls.clear()

    def _begin(self) -> None:
        """Begin the next tasks in the place of this callback, and come again behind them."""
        self._make(PART)
        begun, self._begun = self._begun, []
        if self._calls:
            begun.append(Callback(self._begin, (), self._context))
        raise Expanded(begun)

    def _make(self, most: int) -> None:
        calls = [self._calls.popleft() for _ in range(min(most, len(self._calls)))]
        self._begun += self._makes.begun_in(lambda: self._make_tasks(calls))

    def _make_tasks(self, calls: Sequence[Coroutine[Any, Any, Any]]) -> None:
        for call in calls:
            number, named, context = self._number_of_next, self._named, self._context.copy()
            self._number_of_next, self._named = number + 1, named + 1
            child = self._makes.reserved_task(call, context, number=number, named=named)
            child._log_destroy_pending = False  # type: ignore[attr-defined]  # as asyncio's own does: no caller has it
            child.add_done_callback(self._child_done, context=self._context)
            self._children.append(child)

    def _child_done(self, child: asyncio.Future[Any]) -> None:
        self._finished += 1
        if self.done():
            if not child.cancelled():
                child.exception()  # else its loss would be reported
        elif not self._returns_exceptions and (error := _error_of(child)) is not None:
            self.set_exception(error)
        elif self._finished == self._count:
            if self._cancel_requested:
                self.set_exception(CancelledError())
            else:
                self.set_result([_value_of(each) for each in self._children])


def _error_of(child: asyncio.Future[Any]) -> BaseException | None:
    try:
        return child.exception()
    except CancelledError as cancelled:
        return cancelled


def _value_of(child: asyncio.Future[Any]) -> Any:
    error = _error_of(child)
    if child.cancelled():
        return CancelledError(*(error.args if error is not None and error.args else ("",)))
    return child.result() if error is None else error
