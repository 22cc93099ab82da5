"""The operators' part of a store that is made of several: tasks, schedules and figures of all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from stepward.errors import Refused, StoreUnavailable
from stepward.model.agents import StepAttempts
from stepward.model.records import Audit, InboxRow, Instance, Task
from stepward.model.schedule import Schedule
from stepward.store.contract import (
    Batch,
    ChangedTasks,
    ChangesPlace,
    FlowCount,
    FoundTasks,
    Overview,
    QueueLength,
    StateSample,
    Store,
    StoreGauges,
    TaskCount,
    TaskSearch,
)
from stepward.store.partitions import merging
from stepward.store.partitions.operator_acts import PartitionedActs
from stepward.store.partitions.partition import ON_ITS_WAY, Partition
from stepward.store.partitions.partition_routing import ARRIVAL_SECONDS, LOOK_SECONDS, StoreVerb
from stepward.store.search.conditions import Condition


class ChangesPlaces(ChangesPlace, frozen=True):
    """The place up to which the changes of each store were read."""

    parts: tuple[ChangesPlace | None, ...] = ()
    """In the order of the partitions; None for one that was not reached yet."""


T = TypeVar("T")
LOOKS = round(ARRIVAL_SECONDS / LOOK_SECONDS)
STILL_LOOKS = 20
"""Most times that a listing is read because a shard moves meanwhile."""


class PartitionedOperators(PartitionedActs):
    """Implements ``OperatorStore`` over partitions: what is read is that of every store that can be reached."""

    async def tasks(self, search: TaskSearch) -> FoundTasks:
        found = await self._read_still(lambda store: store.operators.tasks(search))
        for partition, page in found:
            self._partitions.note(page.tasks, partition)
        return merging.merged_page([page for _, page in found], search)

    async def _read_still(self, verb: StoreVerb[T]) -> list[tuple[Partition, T]]:
        """What each store answers while no shard moves; after a second, what they answer while one does."""
        if not self._partitions.may_move:
            return await self._partitions.read_each(verb)
        for _ in range(STILL_LOOKS):
            version = await self._partitions.still()
            found = await self._partitions.read_each(verb)
            if not await self._partitions.may_have_moved(version):
                break
            await asyncio.sleep(LOOK_SECONDS)
        return found

    async def count(self, condition: Condition) -> TaskCount:
        found = await self._read_still(lambda store: store.operators.count(condition))
        return merging.merged_count(count for _, count in found)

    async def overview(self, late_from: float) -> Overview:
        found = await self._partitions.read_each(lambda store: store.operators.overview(late_from))
        return merging.merged_overview([each for _, each in found])

    async def flow(self, since: float, seconds: float) -> list[FlowCount]:
        found = await self._partitions.read_each(lambda store: store.operators.flow(since, seconds))
        return merging.merged_flow(each for _, counts in found for each in counts)

    async def queues(self) -> list[QueueLength]:
        found = await self._partitions.read_each(lambda store: store.operators.queues())
        return merging.merged_queues(each for _, queues in found for each in queues)

    async def attempts(self, since: float) -> list[StepAttempts]:
        found = await self._partitions.read_each(lambda store: store.operators.attempts(since))
        return [attempt for _, attempts in found for attempt in attempts]

    async def state_samples(self, since: float, seconds: float) -> list[StateSample]:
        found = await self._partitions.read_each(lambda store: store.operators.state_samples(since, seconds))
        return merging.merged_samples([samples for _, samples in found], seconds)

    async def gauges(self) -> StoreGauges:
        found = await self._partitions.read_each(lambda store: store.operators.gauges())
        return merging.merged_gauges([each for _, each in found])

    async def changes(self, after: ChangesPlace | None, also: Sequence[str] = ()) -> ChangedTasks:
        """As ``OverviewStore.changes``; the place of a store that cannot be reached stays as it is."""
        members = self._partitions.members
        known = after.parts if isinstance(after, ChangesPlaces) else ()
        before: Sequence[ChangesPlace | None] = known or [after] * len(members)
        asked = {
            member: partial(_changes, place=place, also=also) for member, place in zip(members, before, strict=True)
        }
        found = dict(await self._partitions.read_those(asked))
        parts = tuple(
            found[member].place if member in found else place for member, place in zip(members, before, strict=True)
        )
        first = next(part for part in parts if part is not None)
        for member, changed in found.items():
            self._partitions.note(changed.tasks, member)
        return ChangedTasks(
            tasks=[task for changed in found.values() for task in changed.tasks],
            place=ChangesPlaces(first.at, first.alert, first.act, parts),
            is_cut=any(changed.is_cut for changed in found.values()),
        )

    async def instances(self) -> list[Instance]:
        found = await self._partitions.read_each(lambda store: store.operators.instances())
        return [instance for _, instances in found for instance in instances]

    async def audits(self, id: str | None, limit: int) -> list[Audit]:
        """As ``OperatorStore.audits``; acts stay in the store in which the task was then."""
        task = None if id is None else await self._partitions.first(_task_of(id), bool, id)
        named = id if task is None else task.uid
        found = await self._partitions.read_each(lambda store: store.operators.audits(named, limit))
        acts = [self._outside(partition, act) for partition, audits in found for act in audits]
        if task is not None:
            acts = [replace(act, task_id=task.id) for act in acts]
        return sorted(acts, key=lambda act: act.at, reverse=True)[:limit]

    async def outlived_inbox(self, uids: Sequence[str], after: tuple[str, int]) -> list[InboxRow]:
        """As ``RetentionStore.outlived_inbox``, for one task. Raises Refused for several."""
        if len(uids) != 1:
            raise Refused(f"inbox: expected one task where an application has several stores, found {len(uids)}")
        found = await self._partitions.read_those(
            {
                partition: lambda store: store.operators.outlived_inbox(uids, after)
                for partition in self._partitions.where(uids[0])
            }
        )
        return [row for _, rows in found for row in rows]

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

    async def start_batch(self, batch: Batch) -> None:
        """Starts its part in each store, with an equal share of the rate.

        Raises StoreUnavailable while a shard is on its way: its tasks are in no store, and the batch would miss them.
        """
        await self._wait_for_shards()
        share = replace(batch, rate=batch.rate / len(self._partitions.members))
        await self._partitions.write_each(lambda store: store.operators.start_batch(share))

    async def _wait_for_shards(self) -> None:
        if not self._partitions.may_move:
            return
        for _ in range(LOOKS):
            await self._partitions.refresh()
            if not self._partitions.is_any_away:
                return
            await asyncio.sleep(LOOK_SECONDS)
        raise StoreUnavailable(ON_ITS_WAY)

    async def batches(self, limit: int) -> list[Batch]:
        found = await self._partitions.read_each(lambda store: store.operators.batches(limit))
        parts: dict[str, list[Batch]] = {}
        for batch in (batch for _, batches in found for batch in batches):
            parts.setdefault(batch.id, []).append(batch)
        whole = [merging.merged_batch(each) for each in parts.values()]
        return sorted(whole, key=lambda batch: batch.created_at, reverse=True)[:limit]

    async def batch(self, id: str) -> Batch | None:
        found = await self._partitions.read_each(lambda store: store.operators.batch(id))
        parts = [batch for _, batch in found if batch is not None]
        return merging.merged_batch(parts) if parts else None

    async def steer_batch(self, id: str, act: str, actor: str, rate: float | None = None) -> Batch:
        """As ``BatchStore.steer_batch``, in each store where its part can be steered: one may have ended earlier.

        Raises Refused if no part can.
        """
        share = None if rate is None else rate / len(self._partitions.members)
        found = await self._partitions.write_each(partial(_steered, id=id, act=act, actor=actor, rate=share))
        steered = [batch for batch, _ in found if batch is not None]
        for _, refusal in found:
            if not steered and refusal is not None:
                raise refusal
        return await self.batch(id) or merging.merged_batch(steered)


def _task_of(id: str) -> StoreVerb[Task | None]:
    return lambda store: store.client.task(id)


async def _changes(store: Store, *, place: ChangesPlace | None, also: Sequence[str]) -> ChangedTasks:
    return await store.operators.changes(place, also)


async def _steered(
    store: Store, *, id: str, act: str, actor: str, rate: float | None
) -> tuple[Batch | None, Refused | None]:
    try:
        return await store.operators.steer_batch(id, act, actor, rate), None
    except Refused as refusal:
        return None, refusal
