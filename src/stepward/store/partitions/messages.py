"""The queues of an application in several stores: a message goes where its task is, a response queue is read in all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from stepward.model.messages.cloudevents import message_id
from stepward.store.contract import Store, StoredMessage
from stepward.store.partitions.numbers import outside
from stepward.store.partitions.partition import Partition
from stepward.store.partitions.partition_routing import REFRESH_SECONDS, Partitions
from stepward.store.partitions.placement import shard_of
from stepward.store.store_errors import ShardElsewhere

Bodies = Sequence[tuple[bytes, float | None]]
ReadPlaces = dict[Partition, int]
"""The last token that was read in each store."""
Reading = Callable[[Store], Awaitable[list[StoredMessage]]]


class PartitionedMessages:
    """The verbs of clients on queues: what only Agents and Schedulers use, each has in its own store."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions
        self._places: dict[tuple[str, str], dict[int, ReadPlaces]] = {}
        """By queue and reader, the places behind which it read last, and behind which it reads next, by its tokens."""

    def now(self) -> float:
        return self._partitions.now()

    async def put(self, queue: str, bodies: Bodies) -> None:
        """As ``MessageStore.put``; the id of a message is its task's."""
        await self._partitions.refresh(after=0.0 if self._partitions.may_move else REFRESH_SECONDS)
        put: dict[int, Partition] = {}

        async def rest() -> None:
            await self._put_rest(queue, bodies, put)

        await self._partitions.with_placement(rest)

    async def _put_rest(self, queue: str, bodies: Bodies, put: dict[int, Partition]) -> None:
        """Puts those that were not put where they are placed. Raises ShardElsewhere for one whose shard is away."""
        while True:
            placed: dict[Partition, list[int]] = {}
            for place, (body, _) in enumerate(bodies):
                id = message_id(body)
                partition = self._partitions.placed(id)
                if partition.lacks(shard_of(id)):
                    raise ShardElsewhere(shard_of(id))
                if put.get(place) is not partition:
                    placed.setdefault(partition, []).append(place)
            if not placed:
                return
            for partition, places in placed.items():
                await _put(partition, queue, [bodies[place] for place in places])
                put |= dict.fromkeys(places, partition)
            # What was put where its shard had just left is put again: the id of a message is submitted once.
            if self._partitions.may_move:
                await self._partitions.refresh()

    async def read(self, queue: str, after: int, limit: int, reader: str = "") -> list[StoredMessage]:
        """As ``MessageStore.read``; the messages of one task are in one store, and so in order."""
        before = self._places.get((queue, reader), {}).get(after, {})
        places = dict(before)
        asked = {
            partition: _reading(queue, places.get(partition, 0), limit, reader)
            for partition in self._partitions.members
        }
        found: list[StoredMessage] = []
        for partition, messages in await self._partitions.read_those(asked):
            if messages:
                places[partition] = messages[-1].token
            found += [replace(each, token=outside(partition.number, each.token)) for each in messages]
        if found:
            # A reader that failed over these messages reads them again.
            self._places[queue, reader] = {after: before, found[-1].token: places}
        return found

    async def settle(self, queue: str, tokens: Sequence[int]) -> None:
        for partition, own in self._partitions.by_number(tokens).items():
            await _settle(partition, queue, own)

    async def bury(
        self, queue: str, dead_letters: Sequence[tuple[int, str]], events: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        """As ``MessageStore.bury``, in the store of each message."""
        reasons = dict(dead_letters)
        for partition, own in self._partitions.by_number(reasons).items():
            letters = [(token, reasons[outside(partition.number, token)]) for token in own]
            await _bury(partition, queue, letters, events)

    async def bury_bodies(
        self, queue: str, dead_letters: Sequence[tuple[bytes, str, int]], events: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        """As ``MessageStore.bury_bodies``, in the first store that can be reached."""
        await self._partitions.any(lambda store: store.messages.bury_bodies(queue, dead_letters, events))

    async def filled(self, queues: Sequence[str]) -> set[str]:
        found = await self._partitions.read_each(lambda store: store.messages.filled(queues))
        return {queue for _, filled in found for queue in filled}

    async def nonempty(self, prefix: str, limit: int) -> list[str]:
        """As ``MessageStore.nonempty``."""
        found = await self._partitions.read_each(lambda store: store.messages.nonempty(prefix, limit))
        return sorted({queue for _, queues in found for queue in queues})[:limit]


def _reading(queue: str, after: int, limit: int, reader: str) -> Reading:
    return lambda store: store.messages.read(queue, after, limit, reader)


async def _put(partition: Partition, queue: str, bodies: Bodies) -> None:
    await partition.ask(lambda store: store.messages.put(queue, bodies))


async def _settle(partition: Partition, queue: str, tokens: Sequence[int]) -> None:
    await partition.ask(lambda store: store.messages.settle(queue, tokens))


async def _bury(
    partition: Partition, queue: str, dead_letters: Sequence[tuple[int, str]], events: Sequence[tuple[str, bytes]]
) -> None:
    await partition.ask(lambda store: store.messages.bury(queue, dead_letters, events))
