"""Threads for operations that are plain functions; nothing can stop a thread but its own end."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from stepward.agent.call import Call


class Threads:
    """Runs functions in threads, in a copy of the caller's context."""

    def __init__(self, count: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(max_workers=count, thread_name_prefix=f"agent-{name}")

    async def run(self, call: Call, fn: Callable[[], Any]) -> Any:
        """The result of ``fn``; cancelled, it is thrown away while the thread (``call.thread``) goes on."""
        context = contextvars.copy_context()
        call.thread = self._pool.submit(context.run, _guarded, fn)
        return await asyncio.wrap_future(call.thread)

    def close(self) -> None:
        """Wait for no thread: those still running end on their own."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _guarded(fn: Callable[[], Any]) -> Any:
    try:
        return fn()
    except StopIteration as error:
        # No future can carry it; coroutines turn it into a RuntimeError likewise.
        raise RuntimeError(f"function raised StopIteration: {error}") from error
    except KeyboardInterrupt as error:
        # Raised by the function itself, not by a user: signals reach the main thread alone.
        raise RuntimeError("function raised KeyboardInterrupt") from error
