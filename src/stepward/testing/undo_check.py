"""The check that an undo restores what its operation changed, whatever is known of the operation's outcome."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stepward.agent.declaration import Operation, Undo
from stepward.app import App
from stepward.app_arguments import operations_of
from stepward.errors import DeclarationError, StepFailed
from stepward.model.states import TaskState
from stepward.policies import Supervision
from stepward.testing.app_environment import AppEnvironment, environment
from stepward.testing.fakes import fake_of
from stepward.workflow.definition import Workflow, workflow
from stepward.workflow.registry import Registry

State = Callable[[], Any | Awaitable[Any]]
"""Reads what the operation changes, as a value that can be compared."""
MOST_CALLS = 1_000


@dataclass(frozen=True)
class Case:
    """One way in which an operation and its undo can go."""

    name: str
    plan: Callable[[AppEnvironment, Operation[Any, Any], Undo[Any, Any, Any]], None]
    is_done: bool = True
    """Whether the operation acts at all."""


CASES = (
    Case("the operation completed", lambda env, operation, undo: None),
    Case("no reply of the operation arrived", lambda env, operation, undo: env.lose_reply(operation, times=MOST_CALLS)),
    Case(
        "the operation never acted", lambda env, operation, undo: env.fail(operation, times=MOST_CALLS), is_done=False
    ),
    Case("the undo was called twice", lambda env, operation, undo: env.lose_reply(undo)),
)


async def check_undo(
    app: App,
    operation: Operation[Any, Any],
    *args: Any,
    state: State,
    fakes: Mapping[Any, Any] | None = None,
) -> None:
    """Call ``operation`` with ``args`` in a task that is then undone, and assert that ``state()`` is as before.

    That is tried where the operation completed, where no reply of it arrived, where it never acted, and where its undo
    is called twice; each begins at the state that the one before left. ``state`` may be an ``async def``. Raises
    AssertionError for the first case in which the states differ, DeclarationError for an operation without an undo and
    for one whose call does not change the state, since nothing would be checked.
    """
    undo = _undo_of(operation)
    for case in CASES:
        await _check(app, operation, undo, args, state, dict(fakes or {}), case)


async def _check(
    app: App,
    operation: Operation[Any, Any],
    undo: Undo[Any, Any, Any],
    args: tuple[Any, ...],
    state: State,
    fakes: dict[Any, Any],
    case: Case,
) -> None:
    before = await _read(state)
    changes: list[bool] = []
    called = fake_of(fakes.get(operation, operation))

    async def observed(*args: Any, **kwargs: Any) -> Any:
        result = called(*args, **kwargs)
        result = await result if inspect.isawaitable(result) else result
        changes.append(await _read(state) != before)
        return result

    fakes[operation] = observed
    trial, attempt = _trial(app, operation, args)
    async with environment(trial, fakes=fakes) as env:
        case.plan(env, operation, undo)
        task = await env.client.submit(attempt)
        await env.skip("30d")
        found = (await task.status()).state
    if case.is_done and not any(changes):
        raise DeclarationError(
            f"check_undo(): expected {operation.name} to change what state() returns, found {before!r} before and "
            "after its call; return what the operation changes"
        )
    after = await _read(state)
    if found != TaskState.UNDONE or after != before:
        raise AssertionError(
            f"check_undo(): where {case.name}: expected the task to be undone and the state to be {before!r} again, "
            f"found the task {found} and the state {after!r}; see the undo of {operation.name}"
        )


def _trial(app: App, operation: Operation[Any, Any], args: tuple[Any, ...]) -> tuple[App, Workflow[Any, Any]]:
    """A copy of the application with one workflow more, which calls the operation and fails."""

    @workflow(name="stepward.check_undo", supervision=Supervision(threshold=1, then="undo"))
    async def attempt() -> None:
        await operation(*args)
        raise StepFailed("check_undo undoes what was done")

    trial = copy.copy(app)
    trial.registry = Registry([attempt], operations_of(app.agents))
    return trial, attempt


def _undo_of(operation: object) -> Undo[Any, Any, Any]:
    if not isinstance(operation, Operation) or operation.undo_fn is None:
        raise DeclarationError(
            f"check_undo(): expected an operation with an undo, found {operation!r}; declare one with @operation.undo"
        )
    return Undo(operation.name, operation.undo_fn)


async def _read(state: State) -> Any:
    """A copy, since the state may be the very object that the operation changes."""
    value = state()
    return copy.deepcopy(await value if inspect.isawaitable(value) else value)
