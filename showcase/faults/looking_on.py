"""A look at a broker from the outside that goes on over lost connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

AGAIN_SECONDS = 0.1
"""Between two connections."""


@asynccontextmanager
async def looking_on(
    look: Callable[[asyncio.Event], Awaitable[None]], faults: tuple[type[Exception], ...]
) -> AsyncIterator[None]:
    """Look on inside, from the first connection on; ``look`` sets the event when it is connected, and returns or raises
    one of ``faults`` when the connection has ended."""
    connected = asyncio.Event()
    task = asyncio.create_task(_look_again(look, faults, connected), name="look on")
    try:
        await connected.wait()
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _look_again(
    look: Callable[[asyncio.Event], Awaitable[None]], faults: tuple[type[Exception], ...], connected: asyncio.Event
) -> None:
    while True:
        with suppress(*faults):
            await look(connected)
        await asyncio.sleep(AGAIN_SECONDS)
