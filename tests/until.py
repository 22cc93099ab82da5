"""Waiting for what no event tells of: bounded, with short pauses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 30.0
PAUSE = 0.02


async def until(look: Callable[[], Awaitable[T]], is_so: Callable[[T], bool] = bool) -> T:
    """What ``look`` gives once ``is_so`` is true of it. Raises TimeoutError."""
    async with asyncio.timeout(PATIENCE):
        while not is_so(found := await look()):  # noqa: ASYNC110  nothing tells of it
            await asyncio.sleep(PAUSE)
    return found
