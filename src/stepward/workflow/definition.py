"""Declarations of workflows and local steps by applications."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, get_args, overload

from stepward.durations import Duration, seconds
from stepward.errors import DeclarationError
from stepward.model.action import Action
from stepward.model.pipeline_plan import Plan
from stepward.model.states import StepKind
from stepward.policies import Limit, Supervision

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

NAME = re.compile(r"[A-Za-z0-9._:-]{1,200}")
UndoRuns = Literal["this run", "all runs"]
"""How far undo goes back over the runs of a task that ``continue_as_new`` began."""
OURS = re.compile(
    r"timer|side_effect|set_attributes|continue_as_new|signal:.*|patched:.*|publish:.*|stream:.*|update:.*|answer:.*|fork"
)
"""Names under which the engine keeps records of its own."""


class ChildCall(Coroutine[object, object, R_co]):
    """For type checkers: a call of a workflow, which a call of an operation or of a function is not."""


class Workflow(Action[P, R]):
    """An ``async def`` under a name and a version; called inside a workflow it starts a child task."""

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> ChildCall[R]:
            """A call that type checkers tell from those of other actions."""
            raise NotImplementedError

    plan: Plan | None = None
    """The stages of a pipeline; None for workflow code, whose steps show as it reaches them."""

    def __init__(
        self,
        fn: Callable[P, Coroutine[Any, Any, R]],
        *,
        name: str,
        version: str,
        complete_by: Duration | None,
        supervision: Supervision,
        undo: UndoRuns = "this run",
        limit: Limit | None = None,
    ) -> None:
        if undo not in get_args(UndoRuns):
            raise DeclarationError(f"workflow {name}: expected undo='this run' or 'all runs', found {undo!r:.80}")
        if not isinstance(supervision, Supervision):
            raise DeclarationError(
                f"workflow {name}: expected a Supervision, found {supervision!r}; pass Supervision(…)"
            )
        if not isinstance(limit, Limit | None):
            raise DeclarationError(f"workflow {name}: expected a Limit, found {limit!r:.80}; pass Limit(…)")
        whole = None if complete_by is None else seconds(complete_by, f"{name}.complete_by")
        super().__init__(fn, name=name, kind=StepKind.CHILD, complete_seconds=whole)
        self.version = checked(version, f"version of workflow {name}")
        self.supervision = supervision
        self.undo: UndoRuns = undo
        self.limit = limit


class _WorkflowDecorator(Protocol):
    def __call__(self, fn: Callable[P, Coroutine[Any, Any, R]], /) -> Workflow[P, R]: ...


class _StepDecorator(Protocol):
    @overload
    def __call__(self, fn: Callable[P, Coroutine[Any, Any, R]], /) -> Action[P, R]: ...
    @overload
    def __call__(self, fn: Callable[P, R], /) -> Action[P, R]: ...


class _TransactionDecorator(Protocol):
    @overload
    def __call__(self, fn: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]], /) -> Action[P, R]: ...
    @overload
    def __call__(self, fn: Callable[Concatenate[Any, P], R], /) -> Action[P, R]: ...


@overload
def workflow(fn: Callable[P, Coroutine[Any, Any, R]], /) -> Workflow[P, R]: ...
@overload
def workflow(
    *,
    name: str | None = None,
    version: str = "1",
    complete_by: Duration | None = None,
    supervision: Supervision = Supervision(),
    undo: UndoRuns = "this run",
    limit: Limit | None = None,
) -> _WorkflowDecorator: ...
def workflow(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    version: str = "1",
    complete_by: Duration | None = None,
    supervision: Supervision = Supervision(),
    undo: UndoRuns = "this run",
    limit: Limit | None = None,
) -> Any:
    """Declare an ``async def`` as a workflow; ``complete_by`` bounds a whole task of it.

    ``undo`` says what undoing a task of several runs (``continue_as_new``) reaches: what this run has done, as those
    before it are settled, or what all have done. What it does not reach of runs before the last one is deleted.
    ``limit`` bounds how many tasks of it are at work at once, and how many start within a time.

    Give a changed workflow a new ``version`` when tasks of the old one are still under way.
    """

    def declare(fn: Callable[..., Any]) -> Workflow[Any, Any]:
        known = _name(fn, name, "workflow")
        if not inspect.iscoroutinefunction(fn):
            raise DeclarationError(f"workflow {known}: expected an async def, found {_sort(fn)}; write async def")
        return Workflow(
            fn, name=known, version=version, complete_by=complete_by, supervision=supervision, undo=undo, limit=limit
        )

    return declare if fn is None else declare(fn)


@overload
def step(fn: Callable[P, Coroutine[Any, Any, R]], /) -> Action[P, R]: ...
@overload
def step(fn: Callable[P, R], /) -> Action[P, R]: ...
@overload
def step(
    *, complete_by: Duration = "30s", transaction: Literal[False] = False, name: str | None = None
) -> _StepDecorator: ...
@overload
def step(
    *, complete_by: Duration = "30s", transaction: Literal[True], name: str | None = None
) -> _TransactionDecorator: ...
def step(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    complete_by: Duration = "30s",
    transaction: bool = False,
    name: str | None = None,
) -> Any:
    """Declare a function as a local step, run beside the Scheduler.

    With ``transaction=True`` it gets a connection as its first argument, which calls omit; its rows and its
    outcome commit together.
    """

    def declare(fn: Callable[..., Any]) -> Action[Any, Any]:
        known = _name(fn, name, "step")
        if transaction and not _takes_connection(fn):
            raise DeclarationError(
                f"step {known}: expected a first parameter for the connection, found none; "
                "add one or drop transaction=True"
            )
        return Action(
            fn,
            name=known,
            kind=StepKind.TRANSACTION if transaction else StepKind.LOCAL,
            complete_seconds=seconds(complete_by, f"{known}.complete_by"),
            skip=1 if transaction else 0,
        )

    return declare if fn is None else declare(fn)


def _name(fn: Callable[..., Any], name: str | None, what: str) -> str:
    if not callable(fn):
        raise DeclarationError(f"{what}: expected a function, found {fn!r}; put the decorator above a def")
    return checked_name(getattr(fn, "__name__", "") if name is None else name, what)


def checked_name(name: str, what: str) -> str:
    """A name under which steps may be recorded. Raises DeclarationError."""
    if OURS.fullmatch(checked(name, f"name of {what}")):
        raise DeclarationError(f"name of {what}: expected one that is not the engine's own, found {name!r}; rename it")
    return name


def checked(text: str, what: str) -> str:
    """A name or version within its characters. Raises DeclarationError."""
    if not isinstance(text, str) or not NAME.fullmatch(text):
        raise DeclarationError(f"{what}: expected 1-200 of A-Z a-z 0-9 . _ : -, found {text!r}; give one that fits")
    return text


def _takes_connection(fn: Callable[..., Any]) -> bool:
    first = next(iter(inspect.signature(fn).parameters.values()), None)
    return first is not None and first.kind in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD)


def _sort(fn: Callable[..., Any]) -> str:
    if inspect.isasyncgenfunction(fn):
        return "an async generator"
    return "a def" if inspect.isfunction(fn) else repr(fn)
