"""Batches over partitions: each store has its part."""

from __future__ import annotations

import asyncio
from functools import partial

from msgspec.structs import replace

from stepward.errors import Refused, StoreUnavailable
from stepward.store.contract import Batch, BatchVerb, Store
from stepward.store.partitions import merging
from stepward.store.partitions.operators.operator_verbs import LOOKS, SubjectVerbs
from stepward.store.partitions.partition import ON_ITS_WAY
from stepward.store.partitions.partition_routing import LOOK_SECONDS


class PartitionedBatches(SubjectVerbs):
    """The parts of a batch act as one."""

    async def start_batch(self, batch: Batch) -> None:
        """Starts its part in each store, with an equal share of the rate.

        Raises StoreUnavailable while a shard is on its way: its tasks are in no store, and the batch would miss them.
        Raises Refused for a deletion while a store keeps copies of tasks for a move that was cut off.
        """
        await self._wait_for_shards()
        if batch.verb is BatchVerb.DELETE:
            await self._wait_for_parts()
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

    async def _wait_for_parts(self) -> None:
        for _ in range(LOOKS):
            if not await self.has_arriving_shard():
                return
            await asyncio.sleep(LOOK_SECONDS)
        raise Refused(
            "delete: expected no copies of tasks besides the tasks, found those of a shard whose move is under way or "
            "was cut off; run `stepward partitions move` first"
        )

    async def has_arriving_shard(self) -> bool:
        found = await self._partitions.read_each(lambda store: store.operators.has_arriving_shard())
        return any(has for _, has in found)

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


async def _steered(
    store: Store, *, id: str, act: str, actor: str, rate: float | None
) -> tuple[Batch | None, Refused | None]:
    try:
        return await store.operators.steer_batch(id, act, actor, rate), None
    except Refused as refusal:
        return None, refusal
