"""The part of the blocking client that creates schedules and acts on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVarTuple, Unpack, overload

from stepward.model.schedule import Schedule
from stepward.schedules.options import ScheduleOptions
from stepward.sync.connection import SyncConnection
from stepward.sync.handle import SyncTaskHandle
from stepward.workflow.definition import ChildCall

Ts = TypeVarTuple("Ts")


class SyncSchedulingClient(SyncConnection):
    """What ``SyncClient`` inherits for schedules."""

    def schedules(self) -> list[Schedule]:
        """The recurring tasks, by name."""
        return self._thread.call(self._open_client.schedules())

    @overload
    def create_schedule(
        self, name: str, workflow: Callable[[], ChildCall[object]], **options: Unpack[ScheduleOptions]
    ) -> Schedule: ...
    @overload
    def create_schedule(
        self,
        name: str,
        workflow: Callable[[Unpack[Ts]], ChildCall[object]],
        args: tuple[*Ts],
        **options: Unpack[ScheduleOptions],
    ) -> Schedule: ...
    @overload
    def create_schedule(
        self, name: str, workflow: str, args: Sequence[Any] = (), **options: Unpack[ScheduleOptions]
    ) -> Schedule: ...
    def create_schedule(
        self,
        name: str,
        workflow: Any,
        args: Sequence[Any] = (),
        **options: Unpack[ScheduleOptions],
    ) -> Schedule:
        """Run a workflow at every nominal time of a cron expression, at an interval, or once."""
        return self._thread.call(self._open_client.create_schedule(name, workflow, args, **options))

    def trigger_schedule(self, schedule: str) -> SyncTaskHandle:
        """Start a task of that recurring task now. Raises ScheduleNotFound."""
        return SyncTaskHandle(self._thread, self._thread.call(self._open_client.trigger_schedule(schedule)))

    def backfill_schedule(self, schedule: str, start: datetime | str, end: datetime | str) -> list[SyncTaskHandle]:
        """Start the tasks of the nominal times from ``start`` to ``end`` that have none yet."""
        found = self._thread.call(self._open_client.backfill_schedule(schedule, start, end))
        return [SyncTaskHandle(self._thread, task) for task in found]

    def pause_schedule(self, schedule: str) -> bool:
        """Pause that recurring task; False if it is paused already. Raises ScheduleNotFound."""
        return self._thread.call(self._open_client.pause_schedule(schedule))

    def resume_schedule(self, schedule: str) -> bool:
        """Resume a paused recurring task, from its next nominal time on. Raises ScheduleNotFound."""
        return self._thread.call(self._open_client.resume_schedule(schedule))

    def remove_schedule(self, schedule: str) -> None:
        """Remove a recurring task that no application declares any more. Raises ScheduleNotFound."""
        self._thread.call(self._open_client.remove_schedule(schedule))
