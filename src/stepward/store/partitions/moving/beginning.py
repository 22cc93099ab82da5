"""The only store of an application as its first partition, and the check that processes know the new list."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from stepward.errors import SettingsError
from stepward.store.contract import Store
from stepward.store.contract.values.partition_record import PartitionRecord
from stepward.store.partitions.placement import partition_name
from stepward.store.partitions.record import new_record


def record_of_only(first: str) -> PartitionRecord:
    """The record of the only store of an application: it holds every shard, and ids in it were drawn anywhere."""
    return replace(new_record(1, 1, first), placed_since=None)


async def check_restarted(stores: Sequence[Store]) -> None:
    """Raises SettingsError for a process that runs since before the last of these stores was added.

    It would look for tasks where they are no more.
    """
    for store in stores[:-1]:
        record = await store.host.partition()
        if record is None or record.added_at is None:
            continue
        for instance in await store.operators.instances():
            if instance.alive and instance.started_at < record.added_at:
                raise SettingsError(
                    f"partitions: expected every process to have been started since {partition_name(len(stores))} was "
                    f"added, found {instance.id} (process {instance.pid} on {instance.host}) from before; start it "
                    f"again with all {len(stores)} stores"
                )
