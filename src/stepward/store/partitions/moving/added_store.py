"""Adds a store to an application that has begun; the only store of one becomes its first partition."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from stepward.clock import Environment
from stepward.errors import SettingsError
from stepward.store.contract import Store, TaskSearch
from stepward.store.contract.values.partition_record import PartitionRecord
from stepward.store.partitions.list_rules import new_record
from stepward.store.partitions.moving.copied_settings import copy_settings
from stepward.store.partitions.moving.departure import read_record, write_record
from stepward.store.partitions.moving.engine_choice import tables_of
from stepward.store.partitions.moving.sqlite_tables import SqliteTables
from stepward.store.partitions.opening import share_key, store_id
from stepward.store.partitions.placement import initial_shards, partition_name, written
from stepward.store.rules.audit.audited_acts import partition_audit


async def add_store(stores: Sequence[Store], environment: Environment, actor: str) -> None:
    """Makes the last of these open stores a partition of the application of the others, with no tasks.

    The audit of the first store has it as the act of ``actor``, before anything changes. Raises SettingsError.
    """
    tables = tables_of(stores, environment)
    *known, new = stores
    count = len(stores)
    records = [await store.host.partition() for store in known]
    first = await store_id(known[0], environment)
    if records == [None]:
        if not isinstance(tables[0], SqliteTables):
            raise SettingsError(
                "partitions: expected an application with several stores, or with one in an SQLite file, found its "
                "only store on PostgreSQL, which clients may know alone; begin with two stores there"
            )
        records = [record_of_only(first)]
    for number, record in enumerate(records, 1):
        _check_settled(record, number, count, first)
    added = await new.host.partition()
    if added is None and (await new.operators.tasks(TaskSearch(limit=1))).tasks:
        raise SettingsError(f"store: expected a new store in place {count}, found tasks in it; name a new one")
    place = replace(new_record(count, count, first), shards=written(frozenset()))
    place = replace(place, placed_since=None if records[0] is None else records[0].placed_since)
    if added is not None and replace(added, shards=place.shards) != place:
        raise SettingsError(f"store: expected a new store in place {count}, found a partition; name a new one")
    if added is None or any(record is None or record.count < count for record in records):
        await known[0].operators.record_acts([partition_audit(actor, "add", partition_name(count))])
    await share_key(stores, environment)
    # Who only reads may look at the new store before a process has begun there.
    await store_id(new, environment)
    await copy_settings(tables[0], tables[-1])
    if count == 2 and records[0] is not None:
        await known[0].host.keep_partition(records[0])
    await new.host.keep_partition(place)
    for each in reversed(tables[:-1]):
        async with each.transaction() as transaction:
            record = await read_record(each, transaction)
            if record.count < count:
                await write_record(each, transaction, replace(record, count=count, added_at=each.now()))


def record_of_only(first: str) -> PartitionRecord:
    """The record of the only store of an application: it holds every shard, and ids in it were drawn anywhere."""
    return replace(new_record(1, 1, first), placed_since=None)


def _check_settled(record: PartitionRecord | None, number: int, count: int, first: str) -> None:
    """Raises SettingsError unless this is the record of a partition whose last move is over."""
    if record is None or record.number != number or record.first != first or record.count not in (count - 1, count):
        raise SettingsError(
            f"store: expected {count - 1} partitions of one application and a new store behind them, found "
            f"another in place {number}; name them in order, the new one last"
        )
    if record.shards != written(initial_shards(count - 1)[number - 1]):
        raise SettingsError(
            f"store: expected the share of {partition_name(count - 1)} to have moved, found shards of it "
            f"in {record.name}; run `stepward partitions move` first"
        )
