"""Cancellation of asyncio tasks: within a bound, and also where a library swallows CancelledError."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any


async def give_up(task: asyncio.Future[Any]) -> None:
    """Cancel a task whose result is not needed, and ignore whatever it raises."""
    task.add_done_callback(retrieve)
    if not task.done():
        task.cancel()
        await asyncio.wait({task})


def retrieve(task: asyncio.Future[Any]) -> None:
    """Retrieve a task's exception, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()


async def end_tasks(tasks: Iterable[asyncio.Task[Any]], seconds: float) -> list[asyncio.Task[Any]]:
    """Cancel these tasks and wait until they have ended, ``seconds`` at most; one that has not ended is abandoned."""
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if not running:
        return []
    await asyncio.wait(running, timeout=seconds)
    late = [task for task in running if not task.done()]
    for task in late:
        _let_go(task)
    return late


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
