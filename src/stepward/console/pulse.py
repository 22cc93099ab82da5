"""News for the pages that are open: the store has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from stepward.events import Hints

LEAST_SECONDS = 2.0
"""Least seconds between two pieces of news: a busy store would have every page drawn all the time."""
BEAT_SECONDS = 4.0
"""Seconds between two signs of life to a page without news, and between two checks that it may go on."""


async def news(hints: Hints, *, is_complete: bool) -> AsyncIterator[bool]:
    """True each time that the store has changed, False as a sign of life.

    Hints are not complete within a process that runs the application's actors: its own changes give none. There each
    sign of life is news.
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
