"""Tasks and figures over partitions: lists, counts, the overview, the changes of all stores."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TypeVar

from stepward.errors import Refused
from stepward.model.agent_stats import StepAttempts
from stepward.model.records import InboxRow
from stepward.store.contract import (
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
from stepward.store.partitions.operators.operator_verbs import SubjectVerbs
from stepward.store.partitions.partition import Partition
from stepward.store.partitions.partition_routing import LOOK_SECONDS, StoreVerb
from stepward.store.search.conditions import Condition

T = TypeVar("T")
STILL_LOOKS = 20
"""Most times that a listing is read because a shard moves meanwhile."""


class ChangesPlaces(ChangesPlace, frozen=True):
    """The place up to which the changes of each store were read."""

    parts: tuple[ChangesPlace | None, ...] = ()
    """In the order of the partitions; None for one that was not reached yet."""


class PartitionedFigures(SubjectVerbs):
    """Reads every store that can be reached."""

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


async def _changes(store: Store, *, place: ChangesPlace | None, also: Sequence[str]) -> ChangedTasks:
    return await store.operators.changes(place, also)
