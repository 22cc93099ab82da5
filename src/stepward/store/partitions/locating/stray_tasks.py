"""Tasks that stand elsewhere than their ids are placed: earlier versions drew ids of such, by a key or for a fork.

Ids that this version draws are placed where their task is, so that an id is looked up elsewhere only if it was drawn
before every process drew them so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial

from stepward.errors import StoreUnavailable
from stepward.model.records import Task
from stepward.payload.references import same_payload
from stepward.store.contract import Store, Submitted
from stepward.store.partitions.partition import ON_ITS_WAY, Partition
from stepward.store.partitions.partition_routing import ARRIVAL_SECONDS, LOOK_SECONDS, Partitions
from stepward.store.partitions.placement import drawn_at, is_drawn


class StrayTasks:
    """Finds them among the stores of one application."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions

    async def submitted(self, tasks: Sequence[Task]) -> dict[int, Submitted]:
        """By place, the result of those submissions whose id is that of such a task. Raises as ``holders``."""
        chosen = [task.id for task in tasks if task.id != task.uid]
        holders = await self.holders(chosen) if chosen else {}
        found = {id: await holder.read(partial(_task, id=id)) for id, holder in holders.items()}
        return {
            place: _result(known, task) for place, task in enumerate(tasks) if (known := found.get(task.id)) is not None
        }

    async def holders(self, ids: Iterable[str]) -> dict[str, Partition]:
        """By id, the partitions of such tasks. Raises StoreUnavailable if a store that may have one cannot be asked."""
        since = max(member.placed_since for member in self._partitions.members)
        suspects = [id for id in ids if is_drawn(id) and drawn_at(id) < since]
        begun, found = self._partitions.boot(), dict[str, Partition]()
        while suspects:
            version = self._partitions.version
            found |= await self._looked_for([id for id in suspects if id not in found])
            if len(found) == len(suspects) or not self._partitions.may_move:
                break
            if not await self._partitions.may_have_moved(version):
                break
            if self._partitions.boot() - begun > ARRIVAL_SECONDS:
                raise StoreUnavailable(ON_ITS_WAY)
            await asyncio.sleep(LOOK_SECONDS)
        return found

    async def _looked_for(self, ids: Sequence[str]) -> dict[str, Partition]:
        members = self._partitions.members
        asked = {member: [id for id in ids if self._partitions.placed(id) is not member] for member in members}
        answers = await asyncio.gather(
            *(member.read(partial(_known, ids=those)) for member, those in asked.items()), return_exceptions=True
        )
        found = dict[str, Partition]()
        for member, answer in zip(members, answers, strict=True):
            if not isinstance(answer, BaseException):
                found |= dict.fromkeys(answer, member)
        for answer, those in zip(answers, asked.values(), strict=True):
            if isinstance(answer, BaseException) and not found.keys() >= set(those):
                raise answer
        return found


async def _known(store: Store, *, ids: Sequence[str]) -> set[str]:
    """Those of the ids that tasks here have: an id that was drawn is the uid as well."""
    uids = await store.supervisor.known_owners(ids) if ids else set[str]()
    return {uid for uid in uids if (task := await store.client.task(uid)) is not None and task.id == uid}


async def _task(store: Store, *, id: str) -> Task | None:
    return await store.client.task(id)


def _result(known: Task, asked: Task) -> Submitted:
    """The input of a later run is not what was submitted."""
    same = known.workflow == asked.workflow and (known.run > 1 or same_payload(known.input, asked.input))
    return Submitted(known.uid, known.id, created=False, same=same)
