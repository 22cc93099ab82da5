"""Cancellation beside clients of brokers, which lose it now and then."""

from __future__ import annotations

import asyncio


def is_cancelled() -> bool:
    """Whether somebody wants the running task to end: clients also cancel those who wait for what they give up."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def heed_cancellation() -> None:
    """Raise what was swallowed: clients wait with ``wait_for``, which loses one that comes together with the answer."""
    if is_cancelled():
        raise asyncio.CancelledError
