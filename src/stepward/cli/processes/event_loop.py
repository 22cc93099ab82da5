"""The event loop of a process with actors: it runs to its end, although application code may stop it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from stepward.cli.exit_codes import DONE, FAILED
from stepward.cli.processes.bounded_exit import bound_end
from stepward.runtime.interrupts import pass_interrupt


def run_to_end(serving: Coroutine[Any, Any, None]) -> None:
    """Run to the end; code that keeps the event loop from closing does not delay the process."""
    lifts: list[Callable[[], None]] = []

    async def bounded() -> None:
        code = FAILED
        try:
            await serving
            code = DONE
        finally:
            lifts.append(bound_end(code))

    try:
        with asyncio.Runner() as runner:
            _run_on(runner.get_loop(), bounded())
    finally:
        # From here on the caller decides: a command bounds its own end, a test goes on.
        for lift in lifts:
            lift()


def _run_on(loop: asyncio.AbstractEventLoop, serving: Coroutine[Any, Any, None]) -> None:
    """Run to the end, although application code may stop the loop.

    asyncio lets ``SystemExit`` and ``KeyboardInterrupt`` of a callback, or of another task, out of the loop.
    """
    task = loop.create_task(serving)
    while True:
        try:
            return loop.run_until_complete(task)
        except (KeyboardInterrupt, SystemExit, RuntimeError) as error:
            if task.done():
                raise
            pass_interrupt(error)
            loop.call_exception_handler(
                {"message": "code of the application stopped the event loop", "exception": error}
            )
