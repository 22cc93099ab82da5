"""How a shard arrives in a store: parts are kept unseen, and one transaction makes tasks of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from stepward.store.contract import Transaction
from stepward.store.partitions.moving import rows
from stepward.store.partitions.moving.departure import read_record, refuse_batches, write_record
from stepward.store.partitions.moving.rows import Piece
from stepward.store.partitions.moving.tables import MovingTables
from stepward.store.partitions.placement import read_shards
from stepward.store.partitions.placement import written as written_shards


class Staging:
    """The parts of one shard in the new store, before they are tasks."""

    def __init__(self, target: MovingTables, shard: int) -> None:
        self._target = target
        self._place = f"arriving/{shard:03d}/"
        self._bounds = (self._place, f"arriving/{shard:03d}0")
        self._parts = 0

    async def keep(self, part: bytes) -> None:
        """Keeps one more part."""
        async with self._target.transaction() as transaction:
            await self._target.run(transaction, "stage", f"{self._place}{self._parts:08d}", part)
        self._parts += 1

    async def forget(self) -> None:
        """As ``Keeper.forget``."""
        async with self._target.transaction() as transaction:
            await refuse_batches(self._target, transaction)
            await self._target.run(transaction, "forget_staged", *self._bounds)
        self._parts = 0

    async def take_in(self, transaction: Transaction, now: float) -> None:
        """Makes rows of all parts, and deletes them."""
        alerts: dict[int, int] = {}
        for (key,) in await self._target.run(transaction, "staged", *self._bounds):
            ((part,),) = await self._target.run(transaction, "part", key)
            for piece in rows.read(part):
                await _insert(self._target, transaction, piece, alerts)
                await _wake(self._target, transaction, piece, now)
        await self._target.run(transaction, "forget_staged", *self._bounds)


async def arrive(target: MovingTables, shard: int) -> bool:
    """Takes in a shard that has left its store; False where that was done before."""
    async with target.transaction() as transaction:
        record = await read_record(target, transaction)
        held = read_shards(record.shards)
        if shard in held:
            return False
        await Staging(target, shard).take_in(transaction, target.now())
        await write_record(target, transaction, replace(record, shards=written_shards(held | {shard})))
        return True


async def _insert(target: MovingTables, transaction: Transaction, piece: Piece, alerts: dict[int, int]) -> None:
    generated = rows.GENERATED.get(piece.table)
    kept = [column for column in piece.columns if column != generated]
    found = [dict(zip(piece.columns, row, strict=True)) for row in piece.rows]
    for cells in found:
        if piece.table == rows.WITH_ALERT:
            cells["number"] = alerts[cells["number"]]
        elif piece.table == "stepward_message":
            # A consumer that has taken it settles it in the store that it came from.
            cells["taken_until"] = 0.0
    each = [[cells[column] for column in kept] for cells in found]
    if piece.table == "stepward_alert":
        for cells, row in zip(found, each, strict=True):
            alerts[cells["number"]] = await target.insert_numbered(transaction, piece.table, kept, row)
    else:
        await target.insert(transaction, piece.table, kept, each)


async def _wake(target: MovingTables, transaction: Transaction, piece: Piece, now: float) -> None:
    """Lets tasks that wait for a permit ask here: what they waited for counts in the store that they left."""
    if piece.table == "stepward_task":
        uids: Sequence[Any] = [row[piece.columns.index("uid")] for row in piece.rows]
        for chunk in rows.chunks(uids):
            await target.run(transaction, "wake", chunk, now)
