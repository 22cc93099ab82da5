"""The place of one store among those of its application, as the actors on it see it."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from stepward.events import Hints
from stepward.settings import Settings
from stepward.store.partitions.locating.other_partitions import OtherPartitions
from stepward.store.partitions.partition import Partition
from stepward.store.partitions.partition_routing import REFRESH_SECONDS, Partitions
from stepward.store.partitions.partitioned_store import PartitionedStore
from stepward.store.partitions.placement import shard_of
from stepward.transport.open_broker import is_broker
from stepward.transport.queues.partition_queues import BrokerPartition


class PartitionPlace(NamedTuple):
    """What the actors of one partition share with those of the others in this process, and ask of the other stores."""

    hints: Hints
    others: OtherPartitions
    at_broker: BrokerPartition | None
    """None where the transport is no broker."""


async def place_of(whole: PartitionedStore, partition: Partition, settings: Settings, hints: Hints) -> PartitionPlace:
    """The place of a partition whose store is open. Raises StoreUnavailable."""
    at_broker = None
    if is_broker(settings.transport):
        record = await partition.ask(lambda store: store.host.partition())
        first = "" if record is None else record.first
        at_broker = BrokerPartition(partition.name, first, partial(_placed, whole.partitions))
    return PartitionPlace(hints, OtherPartitions(whole, partition), at_broker)


async def _placed(partitions: Partitions, id: str) -> str | None:
    """The partition in which the task of that id is placed; None while its shard is on its way."""
    await partitions.refresh(after=REFRESH_SECONDS)
    partition = partitions.placed(id)
    return None if partition.lacks(shard_of(id)) else partition.name
