"""The part of the client that creates schedules and acts on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVarTuple, Unpack, overload

from stepward.client.handle import TaskHandle
from stepward.client.scheduling import schedules
from stepward.client.session import ClientSession
from stepward.model.schedule import Schedule
from stepward.schedules.options import ScheduleOptions
from stepward.workflow.definition import ChildCall

Ts = TypeVarTuple("Ts")


class SchedulingClient:
    """What ``Client`` inherits for schedules."""

    _session: ClientSession

    async def schedules(self) -> list[Schedule]:
        """The recurring tasks, by name."""
        return await self._session.store.operators.schedules()

    @overload
    async def create_schedule(
        self, name: str, workflow: Callable[[], ChildCall[object]], **options: Unpack[ScheduleOptions]
    ) -> Schedule: ...
    @overload
    async def create_schedule(
        self,
        name: str,
        workflow: Callable[[Unpack[Ts]], ChildCall[object]],
        args: tuple[*Ts],
        **options: Unpack[ScheduleOptions],
    ) -> Schedule: ...
    @overload
    async def create_schedule(
        self, name: str, workflow: str, args: Sequence[Any] = (), **options: Unpack[ScheduleOptions]
    ) -> Schedule: ...
    async def create_schedule(
        self,
        name: str,
        workflow: Any,
        args: Sequence[Any] = (),
        **options: Unpack[ScheduleOptions],
    ) -> Schedule:
        """Run a workflow at every nominal time of a cron expression, at an interval, or once; no deploy is needed.

        The task's id is the name and the nominal time in UTC. Raises Refused for a name that is taken.
        """
        return await schedules.create(self._session, name, workflow, args, options)

    async def trigger_schedule(self, schedule: str) -> TaskHandle:
        """Start a task of that recurring task now, beside its nominal times. Raises ScheduleNotFound."""
        return TaskHandle(self._session, await schedules.trigger(self._session, schedule))

    async def backfill_schedule(self, schedule: str, start: datetime | str, end: datetime | str) -> list[TaskHandle]:
        """Start the tasks of the nominal times from ``start`` to ``end`` that have none yet, at most 1,000 at once.

        Raises ScheduleNotFound.
        """
        return [TaskHandle(self._session, id) for id in await schedules.backfill(self._session, schedule, start, end)]

    async def pause_schedule(self, schedule: str) -> bool:
        """Fire that recurring task no more; False if it is paused already. Raises ScheduleNotFound."""
        await schedules.found(self._session, schedule)
        return await self._session.store.operators.pause_schedule(schedule, self._session.actor)

    async def resume_schedule(self, schedule: str) -> bool:
        """Fire a paused recurring task again, from its next nominal time on. Raises ScheduleNotFound."""
        return await schedules.resume(self._session, schedule)

    async def remove_schedule(self, schedule: str) -> None:
        """Forget a recurring task that no application declares any more. Raises ScheduleNotFound."""
        await schedules.found(self._session, schedule)
        await self._session.store.operators.remove_schedule(schedule, self._session.actor)
