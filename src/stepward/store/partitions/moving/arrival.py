"""How a shard arrives in a store: parts are kept unseen, and one transaction makes tasks of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from stepward.store.contract import Store, Transaction
from stepward.store.named_queries import load_queries
from stepward.store.partitions.moving import rows
from stepward.store.partitions.moving.departure import read_record, refuse_batches, write_record
from stepward.store.partitions.moving.rows import Piece
from stepward.store.partitions.placement import read_shards
from stepward.store.partitions.placement import written as written_shards

Q = load_queries(__package__, "moving.sql")


class Staging:
    """The parts of one shard in the new store, before they are tasks."""

    def __init__(self, target: Store, shard: int) -> None:
        self._target = target
        self._place = f"arriving/{shard:03d}/"
        self._bounds = (self._place, f"arriving/{shard:03d}0")
        self._parts = 0

    async def keep(self, part: bytes) -> None:
        """Keeps one more part."""
        async with self._target.client.transaction() as transaction:
            await transaction.execute(Q["stage"], (f"{self._place}{self._parts:08d}", part))
        self._parts += 1

    async def forget(self) -> None:
        """As ``Keeper.forget``."""
        async with self._target.client.transaction() as transaction:
            await refuse_batches(transaction)
            await transaction.execute(Q["forget_staged"], self._bounds)
        self._parts = 0

    async def take_in(self, transaction: Transaction, now: float) -> None:
        """Makes rows of all parts, and deletes them."""
        alerts: dict[int, int] = {}
        for (key,) in await transaction.execute(Q["staged"], self._bounds):
            ((part,),) = await transaction.execute(Q["part"], (key,))
            for piece in rows.read(part):
                await _insert(transaction, piece, alerts)
                await _wake(transaction, piece, now)
        await transaction.execute(Q["forget_staged"], self._bounds)


async def arrive(target: Store, shard: int) -> bool:
    """Takes in a shard that has left its store; False where that was done before."""
    async with target.client.transaction() as transaction:
        record = await read_record(transaction)
        held = read_shards(record.shards)
        if shard in held:
            return False
        await Staging(target, shard).take_in(transaction, target.now())
        await write_record(transaction, replace(record, shards=written_shards(held | {shard})))
        return True


async def _insert(transaction: Transaction, piece: Piece, alerts: dict[int, int]) -> None:
    generated = rows.GENERATED.get(piece.table)
    kept = [column for column in piece.columns if column != generated]
    for row in piece.rows:
        cells = dict(zip(piece.columns, row, strict=True))
        if piece.table == rows.WITH_ALERT:
            cells["number"] = alerts[cells["number"]]
        elif piece.table == "stepward_message":
            # A consumer that has taken it settles it in the store that it came from.
            cells["taken_until"] = 0.0
        await rows.insert_row(transaction, piece.table, kept, [cells[column] for column in kept])
        if piece.table == "stepward_alert":
            ((alerts[cells["number"]],),) = await transaction.execute(Q["last_number"])


async def _wake(transaction: Transaction, piece: Piece, now: float) -> None:
    """Lets tasks that wait for a permit ask here: what they waited for counts in the store that they left."""
    if piece.table == "stepward_task":
        uids: Sequence[Any] = [row[piece.columns.index("uid")] for row in piece.rows]
        for chunk in rows.chunks(uids):
            await transaction.execute(Q["wake"], (chunk, now))
