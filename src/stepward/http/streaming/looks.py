"""The polling of a stream: soon after a hint that the store has changed, and every two seconds without one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from stepward.events import Hints

PACE_SECONDS = 1.0
"""Least seconds between two looks, because a busy store hints all the time."""
BEAT_SECONDS = 2.0
"""Most seconds between two looks, because hints are not complete; the credential is checked as often."""
STREAM_SECONDS = 3600.0
"""Seconds after which a stream ends and the client reconnects."""


async def looks(hints: Hints) -> AsyncIterator[None]:
    """Iterates once for each look: at once, then as hints come, and for an hour."""
    stirred = asyncio.Event()
    hints.listen(stirred.set)
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + STREAM_SECONDS
    try:
        while loop.time() < ends_at:
            stirred.clear()
            yield
            await asyncio.sleep(PACE_SECONDS)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(BEAT_SECONDS - PACE_SECONDS):
                    await stirred.wait()
    finally:
        hints.unlisten(stirred.set)
