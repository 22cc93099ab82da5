"""Schedules over partitions: each is in the store in which its name is placed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from stepward.errors import StoreUnavailable
from stepward.model.records import Task
from stepward.model.schedule import Schedule
from stepward.store.contract import Store
from stepward.store.partitions.operators.operator_verbs import LOOKS, SubjectVerbs
from stepward.store.partitions.partition import ON_ITS_WAY
from stepward.store.partitions.partition_routing import LOOK_SECONDS

T = TypeVar("T")


class PartitionedSchedules(SubjectVerbs):
    """Schedules of every store."""

    async def schedules(self) -> list[Schedule]:
        found = await self._partitions.read_each(lambda store: store.operators.schedules())
        return sorted((each for _, schedules in found for each in schedules), key=lambda each: each.name)

    async def schedule(self, name: str) -> Schedule | None:
        return await self._of_schedule(name, lambda store: store.operators.schedule(name))

    async def create_schedule(self, schedule: Schedule, actor: str) -> bool:
        """A schedule is in the store in which its name is placed, and so are its tasks."""

        async def create() -> bool:
            placed = self._partitions.placed(schedule.name)
            return await placed.ask(lambda store: store.operators.create_schedule(schedule, actor))

        return await self._partitions.with_placement(create)

    async def start_scheduled(self, schedule: Schedule, tasks: Sequence[Task], act: str, actor: str) -> list[str]:
        """As ``OperatorStore.start_scheduled``."""

        async def start() -> list[str]:
            placed = self._partitions.placed(schedule.name)
            return await placed.ask(lambda store: store.operators.start_scheduled(schedule, tasks, act, actor))

        return await self._partitions.with_placement(start)

    async def pause_schedule(self, name: str, actor: str) -> bool:
        return await self._of_schedule(name, lambda store: store.operators.pause_schedule(name, actor))

    async def resume_schedule(self, name: str, next_at: float | None, actor: str) -> bool:
        """As ``OperatorStore.resume_schedule``."""
        return await self._of_schedule(name, lambda store: store.operators.resume_schedule(name, next_at, actor))

    async def remove_schedule(self, name: str, actor: str) -> bool:
        return await self._of_schedule(name, lambda store: store.operators.remove_schedule(name, actor))

    async def _of_schedule(self, name: str, verb: Callable[[Store], Awaitable[T]]) -> T:
        """The result of a verb where the schedule is placed; again if it found nothing and a shard has moved."""
        for _ in range(LOOKS):
            placed, version = self._partitions.placed(name), self._partitions.version
            found = await placed.ask(verb)
            if found:
                return found
            await self._partitions.refresh()
            if version == self._partitions.version and not self._partitions.is_on_its_way(name):
                self._partitions.check_listed()
                return found
            await asyncio.sleep(LOOK_SECONDS)
        raise StoreUnavailable(ON_ITS_WAY)
