"""The record by which a store knows that it is one of several, and the rules for a list of stores: pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from stepward.errors import SettingsError
from stepward.store.contract.values.partition_record import PartitionRecord
from stepward.store.partitions.placement import Shards, initial_shards, partition_name, read_shards, written


class OpenedStore(Struct, frozen=True):
    """A store of the list, as it was found."""

    address: str
    """As messages may show it."""
    id: str
    """Its identity."""
    record: PartitionRecord | None
    """None for a store that is no partition yet."""
    has_tasks: bool = False


def check_list(found: Sequence[OpenedStore | None]) -> None:
    """Raises SettingsError unless these stores, in this order, are the partitions of one application.

    None stands for a store that cannot be reached: what it is shows later. New stores may have no record until the
    first store, which gets its own last, has one.
    """
    opened = [store for store in found if store is not None]
    for place, store in enumerate(opened):
        if store.id in [other.id for other in opened[:place]]:
            raise SettingsError(f"store: expected each store once, found {store.address} twice; leave it out once")
    records = [store.record for store in opened if store.record is not None]
    if not records:
        return
    names = _words([partition_name(number) for number in range(1, records[0].count + 1)])
    for number, store, record in _with_records(found):
        if record.first != records[0].first:
            raise SettingsError(
                f"store: expected the partitions of one application, found {store.address}, a partition of another "
                "application; name the stores that were begun together"
            )
        if record.count != records[0].count:
            raise SettingsError(
                f"store: expected {records[0].count} partitions, found that {record.name} ({store.address}) counts "
                f"{record.count}; run `stepward partitions add` again, with every store and the new one last"
            )
        if len(found) != record.count:
            raise SettingsError(
                f"store: expected all {record.count} partitions in the list, found {len(found)} "
                f"{'store' if len(found) == 1 else 'stores'}; name {names}, in this order"
            )
        if record.number != number:
            raise SettingsError(
                f"store: expected the partitions in the order {names}, found {record.name} ({store.address}) in "
                f"place {number}; put the list into that order"
            )
    _check_begun(found, records[0].first)
    _check_shares(records)


def _check_begun(found: Sequence[OpenedStore | None], first: str) -> None:
    """Raises SettingsError for a new store in the place of a partition: tasks of that one would be submitted again."""
    has_begun = found[0] is not None and found[0].record is not None
    for number, store in enumerate(found, 1):
        if store is None or store.record is not None:
            continue
        if has_begun or (number == 1 and store.id != first):
            raise SettingsError(
                f"store: expected {partition_name(number)} of the application in place {number}, found "
                f"{store.address}, a new store; correct the address, or restore the store"
            )


def _check_shares(records: Sequence[PartitionRecord]) -> None:
    """Raises SettingsError for shards that a store cannot hold: one of the records is of another time."""
    for record in records:
        held, share = read_shards(record.shards), initial_shards(record.count)[record.number - 1]
        least, most = (frozenset[int](), share) if record.number == record.count else (share, _before(record))
        if not least <= held <= most:
            raise SettingsError(
                f"store: expected {record.name} to hold shards of its own, found others; restore every store as of one "
                "time"
            )


def _before(record: PartitionRecord) -> Shards:
    """The shards that a partition held before the last one was added."""
    return initial_shards(record.count - 1)[record.number - 1]


def _with_records(found: Sequence[OpenedStore | None]) -> list[tuple[int, OpenedStore, PartitionRecord]]:
    """The stores that have a record, with their places, counted from 1."""
    return [
        (number, store, store.record)
        for number, store in enumerate(found, 1)
        if store is not None and store.record is not None
    ]


def check_new(store: OpenedStore) -> None:
    """Raises SettingsError for a store that has tasks already and is to become one of several."""
    if store.has_tasks:
        raise SettingsError(
            f"store: expected new stores for a new list of partitions, found tasks in {store.address}; name it alone, "
            "take one new store in beside it by `stepward partitions add`, or begin with new stores"
        )


def check_alone(record: PartitionRecord | None) -> None:
    """Raises SettingsError for a partition that is named alone: its tasks are placed among all."""
    if record is not None and record.count > 1:
        raise SettingsError(
            f"store: expected all {record.count} partitions of the application in one list, found {record.name} "
            "alone; give every store, in order: store=[…]"
        )


def new_record(number: int, count: int, first: str) -> PartitionRecord:
    """The record of a new partition."""
    shards = written(initial_shards(count)[number - 1])
    name = partition_name(number)
    return PartitionRecord(name=name, number=number, count=count, first=first, shards=shards, placed_since=0.0)


def _words(names: Sequence[str]) -> str:
    return ", ".join(names)
