"""Change notifications for open pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from stepward.events import Hints

LEAST_SECONDS = 2.0
"""Least seconds between two notifications, so that a busy store does not make every page reload all the time."""
BEAT_SECONDS = 4.0
"""Seconds between two keep-alive messages to a page, and between two checks of its credential."""


async def news(hints: Hints, *, is_complete: bool) -> AsyncIterator[bool]:
    """True each time that the store has changed, False as a keep-alive.

    Within a process that runs the application's actors, hints are not complete: its own changes produce none. There
    every keep-alive is True.
    """
    stirred = asyncio.Event()
    hints.listen(stirred.set)
    try:
        while True:
            try:
                async with asyncio.timeout(BEAT_SECONDS):
                    await stirred.wait()
            except TimeoutError:
                yield not is_complete
                continue
            stirred.clear()
            yield True
            await asyncio.sleep(LEAST_SECONDS)
    finally:
        hints.unlisten(stirred.set)
