"""The asyncio tasks in which the actors of a process run: started, watched for bugs, cancelled."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Coroutine
from typing import Any

from stepward.events import Observers

ActorMain = Callable[[], Coroutine[Any, Any, None]]
"""The main coroutine of an actor; it runs until it is cancelled."""
CANCEL_AGAIN_SECONDS = 2.0
"""Seconds between two cancellations of an actor that has not ended: clients of brokers may swallow one."""


class RunningActors:
    """The actors of one process that run now, in the order in which they were started."""

    def __init__(self, observers: Observers) -> None:
        self._observers = observers
        self._tasks: list[asyncio.Task[None]] = []

    def run(self, actor: ActorMain) -> None:
        """Start an actor; the name of its task is that of the coroutine function."""
        name = getattr(actor, "__qualname__", "actor")
        self._tasks.append(asyncio.get_running_loop().create_task(self._reported(actor, name), name=name))

    async def wait(self) -> None:
        """Wait until an actor ends by a bug, and raise it."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()

    async def end(self, seconds: float) -> None:
        """Cancel all actors, the last started first; one that has not ended after ``seconds`` is left behind."""
        until = asyncio.get_running_loop().time() + seconds
        running = set(self._tasks)
        while running and asyncio.get_running_loop().time() < until:
            for task in reversed(self._tasks):
                task.cancel()
            _, running = await asyncio.wait(running, timeout=CANCEL_AGAIN_SECONDS)
        for task in running:
            self._observers.emit("process.stop_stuck", what=task.get_name())

    async def _reported(self, actor: ActorMain, name: str) -> None:
        """Run the actor; an exception is reported with its traceback, even if ``wait`` is never called."""
        try:
            await actor()
        except Exception as error:
            where = "".join(traceback.format_exception(error))
            self._observers.emit("actor.failed", actor=name, error=repr(error), traceback=where)
            raise
