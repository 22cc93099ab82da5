"""What the actors of one store ask of the other stores of their application."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.store.contract import MessageStore, ObjectOwnerStore
from stepward.store.partitions.partition import Partition
from stepward.store.partitions.partitioned_store import PartitionedStore
from stepward.store.partitions.placement import shard_of


class OtherPartitions:
    """The stores of an application, as seen from one of them."""

    def __init__(self, whole: PartitionedStore, own: Partition) -> None:
        self._whole = whole
        self._own = own

    @property
    def owners(self) -> ObjectOwnerStore:
        """The owners of large payloads in every store."""
        return self._whole.supervisor

    @property
    def messages(self) -> MessageStore:
        """The queues of all stores: a message goes where its id is placed."""
        return self._whole.messages

    async def holds(self, id: str) -> bool:
        """Whether the task or schedule of that id or name is placed in this store."""
        return await self._whole.partitions.holds(self._own, id)

    def is_on_its_way(self, id: str) -> bool:
        """Whether the shard of that id has left its store, and is in no other yet, as far as was seen."""
        return self._whole.partitions.placed(id).lacks(shard_of(id))

    async def known(self, ids: Sequence[str]) -> set[str]:
        """Those of the ids that are placed here, and are of tasks that stand in another store.

        Raises StoreUnavailable if a store that may have one of them cannot be asked.
        """
        return set(await self._whole.strays.holders(ids))

    def down(self) -> dict[str, str]:
        """By name, why the tasks of other stores stand still, as far as this process sees.

        The first store that is not down reports it; to the others it is empty.
        """
        found = {
            member: why
            for member in self._whole.partitions.members
            if member is not self._own and (why := member.why_down()) is not None
        }
        reporter = next(member for member in self._whole.partitions.members if member not in found)
        return {member.name: why for member, why in found.items()} if reporter is self._own else {}
