"""Moves the share of a store that was added there, shard by shard.

Every step may be repeated: a shard is held by the store that it leaves, or is kept whole in the new one and held by
none, or is held by the new one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from stepward.clock import Environment
from stepward.errors import SettingsError
from stepward.store.contract import Store
from stepward.store.contract.values.partition_record import PartitionRecord
from stepward.store.partitions.moving.arrival import Staging, arrive
from stepward.store.partitions.moving.copied_settings import copy_settings
from stepward.store.partitions.moving.departure import leave, read_record, write_record
from stepward.store.partitions.moving.engine_choice import tables_of
from stepward.store.partitions.moving.scan import Scan
from stepward.store.partitions.moving.tables import MovingTables
from stepward.store.partitions.opening import store_id
from stepward.store.partitions.placement import initial_shards, partition_name, read_shards
from stepward.store.rules.audit.audited_acts import partition_audit

CLOCK_SECONDS = 1.0
"""Most seconds between the clocks of two stores: instants move as they are."""
DRAWN_SECONDS = 3600.0
"""Seconds by which the clock of a host that draws ids may be ahead of that of a store."""


class Moved(NamedTuple):
    """A shard that has arrived."""

    shard: int
    source: str
    tasks: int | None
    """How many tasks came with it; None where an earlier move had let them go."""


async def move_share(stores: Sequence[Store], environment: Environment, actor: str) -> AsyncIterator[Moved]:
    """Moves to the last of these open stores what it does not hold of its share yet.

    The audit of the first store has it as the act of ``actor``, before the first shard leaves. Raises SettingsError,
    Refused, and StoreUnavailable for a store that does not answer in time.
    """
    tables, count = tables_of(stores, environment), len(stores)
    target = tables[-1]
    await _check_ready(tables, environment)
    await check_restarted(stores)
    await _note_placed(tables)
    # What a process with the former list has set since the store was added is not there.
    await copy_settings(tables[0], target)
    before, scans = initial_shards(count - 1), [each.scan() for each in tables]
    left = initial_shards(count)[-1] - read_shards((await _record(target)).shards)
    if left:
        await stores[0].operators.record_acts([partition_audit(actor, "move", partition_name(count), len(left))])
    for shard in sorted(left):
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


def shares(records: Sequence[PartitionRecord | None]) -> list[tuple[str, int, int]]:
    """By partition, the shards that it holds, and those that it is to hold once all have moved."""
    wanted = initial_shards(len(records))
    return [
        (partition_name(number), 0 if record is None else len(read_shards(record.shards)), len(wanted[number - 1]))
        for number, record in enumerate(records, 1)
    ]
