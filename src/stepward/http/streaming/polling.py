"""The polling of a stream: soon after a hint that the store has changed, and every two seconds without one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from stepward.events import Hints

PACE_SECONDS = 1.0
"""Least seconds between two looks, because a busy store hints all the time."""
BEAT_SECONDS = 2.0
"""Seconds between two looks without a hint, because hints are not complete."""
SHARE = 50
"""A stream pauses so many times as long as a look and the sending of its changes took: it costs at most 2%."""
LONGEST_PAUSE_SECONDS = 3.5
"""Most seconds between two checks of a credential, so that a stream ends within five seconds of its revocation."""
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
            began = loop.time()
            yield
            pause = min(LONGEST_PAUSE_SECONDS, max(PACE_SECONDS, SHARE * (loop.time() - began)))
            await asyncio.sleep(pause)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, BEAT_SECONDS - pause)):
                    await stirred.wait()
    finally:
        hints.unlisten(stirred.set)
