"""Celery: a task of Celery as a workflow of one step, so that it is submitted durably."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from typing import Any

from celery import Task
from celery.exceptions import Ignore, Reject, Retry

from stepward.agent.declaration import Agent
from stepward.durations import Duration
from stepward.error_messages import message_of
from stepward.errors import DeclarationError, Unrecoverable
from stepward.policies import Supervision
from stepward.workflow.definition import Workflow, workflow

__all__ = ["from_celery_task"]


def from_celery_task(
    task: Task, agent: Agent, *, complete_by: Duration = "5m", supervision: Supervision = Supervision()
) -> Workflow[..., Any]:
    """A workflow that calls the function of a Celery task in a thread of ``agent``; it has the task's name.

    An exception of ``autoretry_for``, and ``self.retry()``, repeats the call, as the Agent's ``Retry`` says; a task
    without ``autoretry_for`` is repeated after every exception. Any other exception ends the step as failed, as do
    ``Reject`` and ``Ignore``. Celery's countdowns, ``max_retries`` and result backend have no effect.
    """
    if not isinstance(task, Task):
        raise DeclarationError(f"from_celery_task: expected a task of Celery, found {task!r:.80}; pass what @task made")
    function = _function(task)
    name: str = task.name
    operation = agent.operation(complete_by=complete_by, name=name.replace(".", "-"))(_translated(task, function))

    @workflow(name=name, supervision=supervision)
    @_like(function)
    async def submitted(*args: Any, **kwargs: Any) -> Any:
        return await operation(*args, **kwargs)

    return submitted


def _function(task: Task) -> Callable[..., Any]:
    """The task's function; that of a bound task calls a ``retry`` that only raises."""
    run = getattr(task, "_orig_run", task.run)  # Beneath the wrapper of autoretry_for.
    if not inspect.ismethod(run):
        function: Callable[..., Any] = run
        return function
    bound = copy.copy(task)
    bound.retry = _retry
    return functools.partial(run.__func__, bound)


def _retry(*args: Any, exc: BaseException | None = None, **kwargs: Any) -> None:
    raise Retry("self.retry()", exc)


def _translated(task: Task, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the outcomes of Celery as those of an operation."""
    repeated = tuple(getattr(task, "autoretry_for", ())) or (Exception,)
    final = tuple(getattr(task, "dont_autoretry_for", ()))

    @_like(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Retry as error:
            raise error.exc or error from None
        except (Ignore, Reject, *final) as error:
            raise Unrecoverable(_text(error)) from error
        except repeated:
            raise
        except Exception as error:
            raise Unrecoverable(_text(error)) from error

    return call


def _like(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a wrapper the parameters of the function."""

    def given(wrapper: Callable[..., Any]) -> Callable[..., Any]:
        inner = function.func if isinstance(function, functools.partial) else function
        functools.update_wrapper(wrapper, inner)
        wrapper.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        return wrapper

    return given


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {message_of(error)}"
