"""Cancellation of tasks that await a broker's client, which sometimes swallows CancelledError."""

from __future__ import annotations

import asyncio


def is_cancelled() -> bool:
    """Whether the running task is being cancelled: clients also cancel the tasks that wait for what they give up."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def heed_cancellation() -> None:
    """Raise a swallowed CancelledError: clients use ``wait_for``, which loses one that coincides with the answer."""
    if is_cancelled():
        raise asyncio.CancelledError
