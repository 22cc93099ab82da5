"""Ends asyncio tasks within a bound: one that swallows its cancellation is let go, and holds up the end of no loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any


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
