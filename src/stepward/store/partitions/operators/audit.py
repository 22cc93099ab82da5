"""The audit over partitions: which store records an act, and the acts of all stores as one list."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from stepward.model.records import Audit, Task
from stepward.store.contract import Store
from stepward.store.partitions.operators.operator_verbs import SubjectVerbs, outside_row
from stepward.store.partitions.partition import Partition
from stepward.store.partitions.partition_routing import StoreVerb


class PartitionedAudit(SubjectVerbs):
    """An act on a task is recorded in the store of that task."""

    async def record_acts(self, acts: Sequence[Audit]) -> None:
        """Those on a task in its store, where its audit is read; the others in the first that can be reached."""
        homes: dict[Partition | None, list[Audit]] = {}
        for act in acts:
            homes.setdefault(None if act.task is None else await self._home(act.task), []).append(act)
        for home, those in homes.items():
            record = partial(_record, acts=those)
            await (self._partitions.any(record) if home is None else home.ask(record))

    async def _home(self, uid: str) -> Partition | None:
        """The partition of the task with that uid; None if there is no such task."""
        members = self._partitions.where(uid)
        return members[0] if len(members) == 1 else await self._partitions.holder(partial(_task, uid=uid), uid)

    async def audits(self, id: str | None, limit: int) -> list[Audit]:
        """As ``OperatorStore.audits``; acts stay in the store in which the task was then."""
        task = None if id is None else await self._partitions.first(_task_of(id), bool, id)
        named = id if task is None else task.uid
        found = await self._partitions.read_each(lambda store: store.operators.audits(named, limit))
        acts = [outside_row(partition, act) for partition, audits in found for act in audits]
        if task is not None:
            acts = [replace(act, task_id=task.id) for act in acts]
        return sorted(acts, key=lambda act: act.at, reverse=True)[:limit]


async def _record(store: Store, *, acts: Sequence[Audit]) -> None:
    await store.operators.record_acts(acts)


async def _task(store: Store, *, uid: str) -> Task | None:
    return next(iter(await store.supervisor.outlived_tasks([uid], "")), None)


def _task_of(id: str) -> StoreVerb[Task | None]:
    return lambda store: store.client.task(id)
