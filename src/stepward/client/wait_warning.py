"""Logs, once for each wait, what keeps a task from ending: a caller is warned long before its timeout."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from stepward.client.overdue import AwaitedTask, hindrance
from stepward.errors import StepwardError

FIRST_LOOK_SECONDS = 3.0
"""Seconds of a wait before the first look; each following pause is twice as long."""
LONGEST_PAUSE_SECONDS = 60.0
LOOK_SECONDS = 1.0
"""Most seconds of a look."""
MOST_LOOKS = 4
"""Looks of a process at once; a wait whose turn it is beyond that looks after its next pause."""
LOGGER = logging.getLogger("stepward.client")


class WaitWarning:
    """A context around one wait; nothing is read before the first look is due."""

    looking = 0
    """Looks that are under way in this process."""

    def __init__(self, view: Callable[[], Awaitable[AwaitedTask]]) -> None:
        self._view = view
        self._pause = FIRST_LOOK_SECONDS
        self._timer: asyncio.TimerHandle | None = None
        self._look: asyncio.Task[None] | None = None

    def __enter__(self) -> None:
        self._start()

    def __exit__(self, *exception: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._look is not None:
            self._look.cancel()

    def _start(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._pause, self._due)
        self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)

    def _due(self) -> None:
        if WaitWarning.looking >= MOST_LOOKS:
            self._start()
        else:
            self._look = asyncio.get_running_loop().create_task(self._warn())

    async def _warn(self) -> None:
        WaitWarning.looking += 1
        try:
            with contextlib.suppress(StepwardError, TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    view = await self._view()
                found = hindrance(view)
                if found is not None:
                    LOGGER.warning("task %s: expected it to continue, found %s; %s", view.task.id, *found)
                    return
        finally:
            WaitWarning.looking -= 1
        self._start()
