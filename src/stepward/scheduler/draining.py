"""The drain of a Scheduler: what it waits for between its last claim and its end."""

from __future__ import annotations

import asyncio
import contextlib

from stepward.scheduler.context import SchedulerContext
from stepward.scheduler.dispatch.dispatcher import Dispatcher
from stepward.scheduler.intake import LocalSubmissions
from stepward.scheduler.tasks.task_cache import ActiveTasks
from stepward.scheduler.turn import TurnLoop, Wakeup

ITERATIONS_TO_ARRIVE = 3
"""Iterations of the event loop in which a published reply reaches the Scheduler."""
SETTLE_LOOK = 0.005
"""Seconds between looks whether what came in is committed, or what was started is out, at the end."""
ON_ITS_WAY = 0.1
"""Seconds in which Agents of this process take what has just left for them, and replies of theirs come in."""
HAND_OUT_SECONDS = 1.0
"""How long Agents take requests on while a Scheduler that ends has some on their way."""


class Draining:
    """The waits of a Scheduler that takes nothing more, each of which the drain's grace bounds."""

    def __init__(
        self,
        context: SchedulerContext,
        wakeup: Wakeup,
        active_tasks: ActiveTasks,
        local_submissions: LocalSubmissions,
        dispatcher: Dispatcher,
        turns: TurnLoop,
    ) -> None:
        self._settings = context.settings
        self._wakeup = wakeup
        self._active_tasks = active_tasks
        self._local_submissions = local_submissions
        self._dispatcher = dispatcher
        self._turns = turns

    async def hand_out(self) -> None:
        """Wait, after ``stop_taking``, until what was started is with Agents: those that drain would leave it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(self._settings.drain, HAND_OUT_SECONDS)):
                while self._turns.is_turning or self._dispatcher.is_sending:  # noqa: ASYNC110  no event is set at both ends
                    await asyncio.sleep(SETTLE_LOOK)
                await asyncio.sleep(ON_ITS_WAY if self._active_tasks.tasks else 0)

    @property
    def _awaits_replies(self) -> bool:
        """Whether a request is out whose reply did not come in yet."""
        return any(active.sent for active in self._active_tasks.tasks.values())

    async def settle(self) -> None:
        """Wait, no longer than the drain's grace, until what came in is committed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.drain):
                for _ in range(ITERATIONS_TO_ARRIVE):
                    await asyncio.sleep(0)
                # Agents of this process have published: the next owner would ask again for what is not read yet.
                await asyncio.sleep(ON_ITS_WAY if self._awaits_replies else 0)
                while self._turns.is_turning or self._turns.is_behind or self._local_submissions:
                    self._wakeup.stir()
                    await asyncio.sleep(SETTLE_LOOK)
