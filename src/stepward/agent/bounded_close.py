"""The end of an Agent: its ``close`` may fail or hang, and everything else still ends in good order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from stepward.agent.declaration import Agent
from stepward.events import Observers
from stepward.model.application_calls import contained, failure_of
from stepward.runtime.cancelling import end_tasks

CLOSE_SECONDS = 3.0
"""How long an Agent may take to release what its operations share."""


async def close_agent(agent: Agent, observers: Observers) -> None:
    """Close the Agent within ``CLOSE_SECONDS``; a failure is reported as ``agent.close_failed``."""
    try:
        await _close(agent)
    except BaseException as error:
        observers.emit("agent.close_failed", agent=agent.name, error=repr(failure_of(error)))


def cancel_background(timer: asyncio.TimerHandle | None, tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel what an Agent does beside its calls."""
    if timer is not None:
        timer.cancel()
    for task in tasks:
        task.cancel()


async def _close(agent: Agent) -> None:
    closing = asyncio.ensure_future(_contained_close(agent))
    try:
        await asyncio.wait([closing], timeout=CLOSE_SECONDS)
        is_late = not closing.done()
    finally:
        await end_tasks([closing], 0)
    if is_late:
        raise TimeoutError(f"expected it to close within {CLOSE_SECONDS:g} s, found it still at work")
    closing.result()


async def _contained_close(agent: Agent) -> None:
    with contained:
        await agent.close()
