"""Actions that workflow code can call durably: an operation, a local step, another workflow.

Inside a workflow a call goes through the workflow's loop and is recorded; elsewhere it just calls the function, so that
the function can be tested alone.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
from collections.abc import Callable, Coroutine
from pathlib import PurePath
from typing import Any, Generic, NoReturn, ParamSpec, TypeVar, cast

from stepward.model.current_step import CURRENT
from stepward.model.states import StepKind
from stepward.payload import Signature

LOG = logging.getLogger("stepward.workflow")
OUTSIDE = "%s was called outside a task, at %s: it runs as a plain function, neither recorded nor repeated; %s"
INSTEAD_OF_CHILD = "submit it with client.submit(…), or call it in a workflow"
INSTEAD_OF_STEP = "call it in a workflow (a test may call it so)"

P = ParamSpec("P")
R = TypeVar("R")


class Caller:
    """The event loop of a workflow, as actions see it; a base class rather than a Protocol, because every call
    checks for it."""

    def call(
        self, action: Action[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any], key: str | None = None
    ) -> Coroutine[Any, Any, Any]:
        """Record ``action`` as a step and wait for its outcome; without a ``key``, as the next call of its name."""
        raise NotImplementedError

    def refuse(self, what: str) -> NoReturn:
        """End the workflow because its code called ``what``, which no workflow may."""
        raise NotImplementedError


def current_caller() -> Caller | None:
    """The workflow loop that is running now, if any."""
    loop: object = asyncio._get_running_loop()
    return loop if isinstance(loop, Caller) else None


class Action(Generic[P, R]):
    """A named function that a workflow calls as a step."""

    def __init__(
        self,
        fn: Callable[P, Any],
        *,
        name: str,
        kind: StepKind,
        agent: str | None = None,
        complete_seconds: float | None = None,
        irreversible: bool = False,
        skip: int = 0,
    ) -> None:
        self.fn = fn
        self.name = name
        self.kind = kind
        self.agent = agent
        self.complete_seconds = complete_seconds
        self.irreversible = irreversible
        self.undo_fn: Callable[..., Any] | None = None
        self.signature = Signature(fn, name, skip=skip)
        self.title = f"{kind} {name} (call it with await)"
        """The name of a call in Python's warning that it was never awaited."""
        self._was_called_directly = False
        self.__doc__ = fn.__doc__
        self.__name__ = getattr(fn, "__name__", name)

    @property
    def has_undo(self) -> bool:
        """Whether an undo is declared beside it."""
        return self.undo_fn is not None

    # Any in place of object would cost callers of asyncio.gather the types of its results.
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[object, object, R]:
        """Inside a workflow: run as a durable step. Elsewhere: call the function."""
        caller: object = asyncio._get_running_loop()
        if isinstance(caller, Caller):
            return caller.call(self, args, kwargs)
        return self._call_directly(args, kwargs)

    def call_as(self, key: str, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[object, object, R]:
        """Like calling it; inside a workflow the step is recorded under ``key``, independent of earlier calls."""
        caller = current_caller()
        if caller is not None:
            return caller.call(self, args, kwargs, key)
        return self._call_directly(args, kwargs)

    def _call_directly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Coroutine[object, object, R]:
        """Call the function directly; a log line says once that this is no durable step, unless an operation or
        step does so."""
        place = None
        if not self._was_called_directly and (CURRENT.get() is None or self.kind is StepKind.CHILD):
            frame = sys._getframe(2)
            place = f"{PurePath(frame.f_code.co_filename).name}:{frame.f_lineno}"
        call = self._direct(args, kwargs, place)
        call.__qualname__ = self.title  # type: ignore[attr-defined]  # the name in the warning if it is never awaited
        return cast("Coroutine[object, object, R]", call)

    async def _direct(self, args: tuple[Any, ...], kwargs: dict[str, Any], place: str | None) -> Any:
        if place is not None and not self._was_called_directly:
            self._was_called_directly = True
            instead = INSTEAD_OF_CHILD if self.kind is StepKind.CHILD else INSTEAD_OF_STEP
            LOG.warning(OUTSIDE, self.name, place, instead)
        result = self.fn(*args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}{self.signature.text()}>"
