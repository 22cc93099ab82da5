"""The end of a child of this process."""

from __future__ import annotations

import asyncio
import os


async def ended(pid: int) -> None:
    """Return once the child has ended; it is still to be waited for."""
    place = os.pidfd_open(pid)
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(place, told.set)
    try:
        await told.wait()
    finally:
        loop.remove_reader(place)
        os.close(place)
