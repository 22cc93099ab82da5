"""The end of a process of the example: by a signal, or because the process that started it is gone."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def listen(*, is_tethered: bool = False) -> asyncio.Event:
    """An event that is set when this process is asked to end.

    A tethered process is also asked to end when its standard input is closed.
    """
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in SIGNALS:
        loop.add_signal_handler(number, told.set)
    if is_tethered:
        loop.add_reader(sys.stdin.fileno(), _read_on, told)
    return told


async def until(told: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Do this work until asked to end, and raise the exception that ends it before that."""
    waiting, working = asyncio.create_task(told.wait()), asyncio.create_task(work)
    await asyncio.wait([waiting, working], return_when=asyncio.FIRST_COMPLETED)
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working


def _read_on(told: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 1024):
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        told.set()
