"""Warns, once for each wait, of what keeps a task from ending: a caller learns it long before its timeout."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from stepward.client.waiting.wait_hindrances import WaitView, hindrance
from stepward.errors import StepwardError

FIRST_LOOK_SECONDS = 3.0
"""Seconds of a wait before the first look; each following pause is twice as long."""
CONFIRM_SECONDS = 2.0
"""Seconds until a second look confirms what the first one found: a restart or a takeover warns of nothing."""
LOOK_SECONDS = 1.0
"""Most seconds of a look."""
MOST_LOOKS = 4
"""Most looks of a process at once; a wait that is due beyond that looks after its next pause."""
LOGGER = logging.getLogger("stepward.client")


class WaitWarning:
    """A context around one wait; nothing is read before the first look is due."""

    looking = 0
    """Looks of this process that are in progress."""

    def __init__(self, view: Callable[[], Awaitable[WaitView]]) -> None:
        self._view = view
        self._pause = FIRST_LOOK_SECONDS
        self._timer: asyncio.TimerHandle | None = None
        self._look: asyncio.Task[None] | None = None
        self._suspected: str | None = None
        """The kind of hindrance that the last look found."""

    def __enter__(self) -> None:
        self._wait(self._pause)

    def __exit__(self, *exception: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._look is not None:
            self._look.cancel()

    def _wait(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._due)

    def _wait_longer(self) -> None:
        self._pause *= 2
        self._wait(self._pause)

    def _due(self) -> None:
        if WaitWarning.looking >= MOST_LOOKS:
            self._wait_longer()
        else:
            self._look = asyncio.get_running_loop().create_task(self._warn())

    async def _warn(self) -> None:
        found = None
        WaitWarning.looking += 1
        try:
            with contextlib.suppress(StepwardError, TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    view = await self._view()
                found = hindrance(view)
        finally:
            WaitWarning.looking -= 1
        if found is None:
            self._suspected = None
            self._wait_longer()
        elif found.kind != self._suspected:
            self._suspected = found.kind
            self._wait(CONFIRM_SECONDS)
        else:
            LOGGER.warning("task %s: expected it to continue, found %s; %s", view.task.id, found.found, found.remedy)
