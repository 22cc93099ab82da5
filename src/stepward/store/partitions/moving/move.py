"""Adds a store to an application that has begun, and moves its share there, shard by shard.

Every step may be repeated: a shard is held by the store that it leaves, or is kept whole in the new one and held by
none, or is held by the new one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, cast

from msgspec.structs import replace

from stepward.clock import Environment
from stepward.errors import SettingsError
from stepward.store.contract import Store, TaskSearch
from stepward.store.contract.values.partition_record import PartitionRecord
from stepward.store.partitions.enrolment import share_key, store_id
from stepward.store.partitions.moving.arrival import Staging, arrive
from stepward.store.partitions.moving.beginning import check_restarted, record_of_only
from stepward.store.partitions.moving.departure import leave, read_record, write_record
from stepward.store.partitions.moving.scan import Scan
from stepward.store.partitions.moving.sqlite_tables import SqliteTables
from stepward.store.partitions.moving.tables import MovingTables
from stepward.store.partitions.placement import initial_shards, partition_name, read_shards, written
from stepward.store.partitions.record import new_record
from stepward.store.sqlite.store import SqliteStore

CLOCK_SECONDS = 1.0
"""Most seconds between the clocks of two stores: instants move as they are."""
DRAWN_SECONDS = 3600.0
"""Seconds by which the clock of a host that draws ids may be ahead of that of a store."""
COPIED = {
    "stepward_workflow": None,
    "stepward_flow_limit": None,
    "stepward_alert_silence": None,
    "stepward_credential": None,
    "stepward_agent": ("name", "suspended_at", "suspended_by", "note"),
}
"""Tables of settings that every store has alike, with the columns that are copied; None: all."""


class Moved(NamedTuple):
    """A shard that has arrived."""

    shard: int
    source: str
    tasks: int | None
    """How many tasks came with it; None where an earlier move had let them go."""


async def add_store(stores: Sequence[Store], environment: Environment) -> None:
    """Makes the last of these open stores a partition of the application of the others, with no tasks.

    Raises SettingsError.
    """
    tables = _tables(stores, environment)
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
    await share_key(stores, environment)
    # Who only reads may look at the new store before a process has begun there.
    await store_id(new, environment)
    await _copy_settings(tables[0], tables[-1])
    if count == 2 and records[0] is not None:
        await known[0].host.keep_partition(records[0])
    await new.host.keep_partition(place)
    for each in reversed(tables[:-1]):
        async with each.transaction() as transaction:
            record = await read_record(each, transaction)
            if record.count < count:
                await write_record(each, transaction, replace(record, count=count, added_at=each.now()))


async def move_share(stores: Sequence[Store], environment: Environment) -> AsyncIterator[Moved]:
    """Moves to the last of these open stores what it does not hold of its share yet. Raises SettingsError, Refused."""
    tables, count = _tables(stores, environment), len(stores)
    target = tables[-1]
    await _check_ready(tables, environment)
    await check_restarted(stores)
    await _note_placed(tables)
    # What a process with the former list has set since the store was added is not there.
    await _copy_settings(tables[0], target)
    before, scans = initial_shards(count - 1), [each.scan() for each in tables]
    held = read_shards((await _record(target)).shards)
    for shard in sorted(initial_shards(count)[-1] - held):
        place = next(n for n, shards in enumerate(before) if shard in shards)
        yield Moved(
            shard, partition_name(place + 1), await _move(tables[place], target, shard, scans[place], environment)
        )


async def _move(
    source: MovingTables, target: MovingTables, shard: int, scan: Scan, environment: Environment
) -> int | None:
    staging = Staging(target, shard)
    await scan.look_ahead()
    environment.failpoint("shard.leave.before")
    moved = await leave(source, shard, scan, staging, lambda: environment.failpoint("shard.commit.before"))
    environment.failpoint("shard.leave.after")
    await arrive(target, shard)
    environment.failpoint("shard.arrive.after")
    return moved


async def _check_ready(tables: Sequence[MovingTables], environment: Environment) -> None:
    stores = [each.store for each in tables]
    count, first = len(stores), await store_id(stores[0], environment)
    for number, store in enumerate(stores, 1):
        record = await store.host.partition()
        if record is None or (record.number, record.count, record.first) != (number, count, first):
            raise SettingsError(
                f"store: expected the {count} partitions of one application in order, found another store in place "
                f"{number}; run `stepward partitions add` with them first"
            )
        ahead = abs(store.now() - stores[-1].now())
        if ahead > CLOCK_SECONDS:
            raise SettingsError(
                f"store: expected clocks that agree within {CLOCK_SECONDS:g} s, found {partition_name(number)} "
                f"{ahead:.1f} s from the new store; begin the new store on a host whose clock is right"
            )
    async with tables[-1].transaction() as transaction:
        if not (await tables[-1].run(transaction, "schedulers"))[0][0]:
            raise SettingsError(
                f"partitions: expected a Scheduler that serves {partition_name(count)}, found none; start the "
                f"application with all {count} stores first"
            )


async def _note_placed(tables: Sequence[MovingTables]) -> None:
    """Notes from when on each drawn id is placed: every process was started again with the new list, and draws so."""
    for each in tables:
        async with each.transaction() as transaction:
            record = await read_record(each, transaction)
            if record.placed_since is None:
                await write_record(each, transaction, replace(record, placed_since=each.now() + DRAWN_SECONDS))


async def _record(tables: MovingTables) -> PartitionRecord:
    async with tables.transaction() as transaction:
        return await read_record(tables, transaction)


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


def _tables(stores: Sequence[Store], environment: Environment) -> list[MovingTables]:
    """The tables of each store. Raises SettingsError for stores of two engines: their rows differ."""
    found = [_tables_of(store, environment) for store in stores]
    for number, tables in enumerate(found, 1):
        if type(tables) is not type(found[0]):
            raise SettingsError(
                f"partitions: expected stores in SQLite files alone, or on PostgreSQL alone, found another in place "
                f"{number}; add a store like the others"
            )
    return found


def _tables_of(store: Store, environment: Environment) -> MovingTables:
    if isinstance(store, SqliteStore):
        return SqliteTables(store)
    from stepward.store.partitions.moving.postgres_tables import PostgresTables  # noqa: PLC0415  an extra's
    from stepward.store.postgres.store import PostgresStore  # noqa: PLC0415  an extra's

    return PostgresTables(cast("PostgresStore", store), environment.random)


async def _copy_settings(source: MovingTables, target: MovingTables) -> None:
    """Copies what operators and processes have set in every store, and the marks of encryption keys."""
    async with source.transaction() as reading:
        marks = await source.run(reading, "key_marks")
        found = {}
        for table, some in COPIED.items():
            columns = list(some or await source.columns(reading, table))
            found[table] = columns, await source.everything(reading, table, columns)
    async with target.transaction() as writing:
        for mark in marks:
            await target.run(writing, "keep_mark", *mark)
        for table, (columns, those) in found.items():
            await target.put(writing, table, columns, those)


def shares(records: Sequence[PartitionRecord | None]) -> list[tuple[str, int, int]]:
    """By partition, the shards that it holds, and those that it is to hold once all have moved."""
    wanted = initial_shards(len(records))
    return [
        (partition_name(number), 0 if record is None else len(read_shards(record.shards)), len(wanted[number - 1]))
        for number, record in enumerate(records, 1)
    ]
