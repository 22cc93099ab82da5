"""Cancellation of asyncio tasks: within a bound, and also where a library swallows CancelledError."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from itertools import islice
from typing import Any

AT_ONCE = 512
"""Most tasks that are cancelled before the event loop runs, and with it what they do about it."""


async def give_up(task: asyncio.Future[Any]) -> None:
    """Cancel a task whose result is not needed, and ignore whatever it raises."""
    task.add_done_callback(retrieve)
    if not task.done():
        task.cancel()
        await asyncio.wait({task})


async def to_its_end(closing: Coroutine[Any, Any, None]) -> None:
    """Await what closes something, also where this is cancelled meanwhile, which is raised afterwards.

    What fails to start closes what it has opened: a cancellation of the start would stop that halfway.
    """
    task = asyncio.ensure_future(closing)
    task.add_done_callback(retrieve)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


def retrieve(task: asyncio.Future[Any]) -> None:
    """Retrieve a task's exception, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()


async def end_tasks(tasks: Iterable[asyncio.Task[Any]], seconds: float) -> list[asyncio.Task[Any]]:
    """Cancel these tasks and wait until they have ended, ``seconds`` at most; one that has not ended is abandoned.

    The event loop runs after each ``AT_ONCE`` of them; all are cancelled, also where the caller is meanwhile.
    """
    running = [task for task in tasks if not task.done()]
    await _cancel_all(running)
    until = asyncio.get_running_loop().time() + seconds
    for first in range(0, len(running), AT_ONCE):
        if left := [task for task in running[first : first + AT_ONCE] if not task.done()]:
            await asyncio.wait(left, timeout=max(0.0, until - asyncio.get_running_loop().time()))
    late = [task for task in running if not task.done()]
    for task in late:
        _let_go(task)
    return late


async def _cancel_all(tasks: Iterable[asyncio.Task[Any]]) -> None:
    waiting = iter(tasks)
    try:
        while part := list(islice(waiting, AT_ONCE)):
            for task in part:
                task.cancel()
            if len(part) == AT_ONCE:
                await asyncio.sleep(0)
    finally:
        for task in waiting:
            task.cancel()


def _let_go(task: asyncio.Task[Any]) -> None:
    """Remove the task from those for which ``asyncio.run`` waits."""
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # private, and reported as missing
    asyncio.tasks._unregister_task(task)


def is_cancelled() -> bool:
    """Whether the running task is being cancelled: clients of brokers also cancel those that wait."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def heed_cancellation() -> None:
    """Raise a swallowed CancelledError: ``wait_for`` in clients loses one that coincides with an answer."""
    if is_cancelled():
        raise asyncio.CancelledError
