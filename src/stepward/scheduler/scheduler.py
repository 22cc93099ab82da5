"""The Scheduler as its host knows it: room, hints, its run and its end.

What leaves the process (requests, answers to clients) leaves after the commit. An instance that was fenced, or that
cannot know what became of a commit, is over: its host starts another under a new id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from stepward.model.agents import AgentHealth
from stepward.model.limits.flow_limit import FlowLimit
from stepward.model.messages.change_kinds import Kinds
from stepward.scheduler.admission.agent_rooms import Rooms
from stepward.scheduler.admission.fair_share import Room
from stepward.scheduler.admission.windows import LOCAL_ROOM, Windows
from stepward.scheduler.agent_replies.progress import ProgressUpdates
from stepward.scheduler.agent_replies.replies import ReplyReceiver
from stepward.scheduler.context import SchedulerContext
from stepward.scheduler.dispatch.dispatcher import Dispatcher
from stepward.scheduler.dispatch.local_steps import LocalSteps
from stepward.scheduler.dispatch.lost_messages import LostMessages
from stepward.scheduler.draining import Draining
from stepward.scheduler.intake import Intake, LocalSubmissions
from stepward.scheduler.tasks.task_cache import ActiveTasks
from stepward.scheduler.turn import TurnLoop, Wakeup

LOCAL_STEPS = "local steps"
"""How an instance names them among what it says of itself."""


class Scheduler:
    """Arranges the steps of the tasks that it holds; it knows no business, only what the engine decides."""

    def __init__(
        self,
        context: SchedulerContext,
        wakeup: Wakeup,
        windows: Windows,
        rooms: Rooms,
        active_tasks: ActiveTasks,
        local_submissions: LocalSubmissions,
        intake: Intake,
        receiver: ReplyReceiver,
        progress: ProgressUpdates,
        local: LocalSteps,
        dispatcher: Dispatcher,
        lost: LostMessages,
        turns: TurnLoop,
        draining: Draining,
    ) -> None:
        self.instance = context.instance
        self._wakeup = wakeup
        self._windows = windows
        self._rooms = rooms
        self._active_tasks = active_tasks
        self._local_submissions = local_submissions
        self._intake = intake
        self._receiver = receiver
        self._progress = progress
        self._local = local
        self._dispatcher = dispatcher
        self._lost = lost
        self._turns = turns
        self.hand_out = draining.hand_out
        self.settle = draining.settle

    def hint(self, kinds: Kinds) -> None:
        """The store was changed from outside: look soon, if that is about tasks."""
        self._intake.hint(kinds)
        if self._intake.is_hinted:
            self._wakeup.stir()

    def set_rooms(self, rooms: Mapping[str, Room]) -> None:
        """How many requests of this Scheduler each Agent takes."""
        self._rooms.set(rooms)

    def set_limits(self, limits: Sequence[FlowLimit]) -> None:
        """The limits of workflows that are in force."""
        self._intake.set_limits(limits)

    @property
    def is_opening(self) -> bool:
        """Whether a window has yet to open: ``widen`` is to be called soon."""
        return self._windows.is_opening

    def widen(self) -> None:
        """Open by one step the windows that have room."""
        self._windows.widen()
        self._wakeup.stir()

    def demand(self) -> dict[str, int]:
        """By Agent, the requests that are out and the steps that wait for room."""
        return self._windows.demand()

    def waits(self) -> dict[str, float]:
        """By Agent, since when the oldest step has waited for room here."""
        return self._windows.waits()

    def health(self) -> list[AgentHealth]:
        """How the local steps are doing; what does not stop is replaced, and beyond that takes up their room."""
        stuck = self._local.count_stuck()
        self._rooms.set_stuck(stuck)
        capacity, in_flight = LOCAL_ROOM.requests, self._local.in_flight
        return [AgentHealth(agent=LOCAL_STEPS, capacity=capacity, in_flight=in_flight, stuck=stuck)]

    @property
    def failed_at(self) -> float | None:
        """When its last commit, or the last read of a turn, failed because the store was not available."""
        return self._turns.failed_at

    @property
    def held(self) -> int:
        """How many tasks are in memory."""
        return len(self._active_tasks.tasks)

    def holds(self, uid: str) -> bool:
        """Whether that task is in memory, and stays there until it ends or is released."""
        active = self._active_tasks.tasks.get(uid)
        return active is not None and not active.leaving

    async def run(self) -> None:
        """Turn until cancelled. Raises InstanceFenced or CommitUnknown when this instance is over."""
        pump = asyncio.get_running_loop().create_task(self._receiver.pump())
        pump.add_done_callback(lambda _: self._wakeup.stir())
        try:
            await self._turns.run(pump)
        finally:
            self._wakeup.close()
            pump.cancel()
            await asyncio.gather(pump, return_exceptions=True)
            await self._progress.stop()
            await self._local.stop()
            self._lost.stop()
            await self._dispatcher.stop()
            self._local_submissions.end()
            await self._active_tasks.forget_all()

    def stop_taking(self) -> None:
        """Claim nothing and start nothing more: what is under way may end, the next owner goes on from there."""
        self._intake.close()
        self._rooms.close()

    def fence(self) -> None:
        """This instance was declared dead: end the run with InstanceFenced."""
        self._turns.is_fenced = True
        self._wakeup.stir()
