"""Ends asyncio tasks: those that nobody waits for any more, and at the end of a loop within a bound.

One that swallows its cancellation is let go then, and holds up the end of no loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any


async def give_up(task: asyncio.Future[Any]) -> None:
    """Have a task end for which nobody waits any more, whatever it raises, now or as it is cancelled."""
    task.add_done_callback(retrieve)
    if not task.done():
        task.cancel()
        await asyncio.wait({task})


def retrieve(task: asyncio.Future[Any]) -> None:
    """Look at how a task ended, so that asyncio logs nothing of it."""
    if not task.cancelled():
        task.exception()


async def end_tasks(tasks: Iterable[asyncio.Task[Any]], seconds: float) -> list[asyncio.Task[Any]]:
    """Cancel these and wait until they have ended, so many seconds at most; those that have not are let go."""
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
    """Have nobody wait for the task: ``asyncio.run`` waits for all that are registered."""
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # it is known, and told of
    asyncio.tasks._unregister_task(task)
