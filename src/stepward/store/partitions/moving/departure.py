"""How a shard leaves a store: one transaction that keeps the other writers waiting, and commits where the shard goes.

Before it commits everything is kept in the new store, unseen; after it nothing is left here. A task that a Scheduler
works on is given up by it as after a takeover: its next change does not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from stepward.errors import Refused
from stepward.store.contract import Store, Transaction
from stepward.store.contract.values.partition_record import PartitionRecord
from stepward.store.named_queries import load_queries
from stepward.store.partitions.moving import rows
from stepward.store.partitions.moving.rows import Piece
from stepward.store.partitions.moving.scan import Scan, Share
from stepward.store.partitions.placement import read_shards
from stepward.store.partitions.placement import written as written_shards

Q = load_queries(__package__, "moving.sql")


class Keeper(Protocol):
    """Keeps the parts of what leaves in the new store, unseen."""

    async def forget(self) -> None:
        """Deletes the parts of a move that was cut off before its commit. Raises Refused while a batch runs there."""
        ...

    async def keep(self, part: bytes) -> None:
        """Keeps one more part."""
        ...


async def read_record(transaction: Transaction) -> PartitionRecord:
    """The record of a partition, which does not change before the transaction ends."""
    ((value,),) = await transaction.execute(Q["record"])
    return msgspec.json.decode(value, type=PartitionRecord)


async def write_record(transaction: Transaction, record: PartitionRecord) -> None:
    """Replaces the record."""
    await transaction.execute(Q["write_record"], (msgspec.json.encode(record).decode(),))


async def refuse_batches(transaction: Transaction) -> None:
    """Raises Refused while a batch runs: it would miss a task that moves, or act on it twice."""
    if (await transaction.execute(Q["batches"]))[0][0]:
        raise Refused("partitions: expected no batch under way, found one; wait for it, or stop it, and move again")


async def leave(source: Store, shard: int, scan: Scan, keeper: Keeper, before_commit: Callable[[], None]) -> int | None:
    """Lets a shard go; returns how many tasks went, None where it has gone before. Raises Refused while a batch runs.

    The commit is the point from which the new store has the shard, whether or not it has taken it in yet.
    """
    async with source.client.transaction() as transaction:
        record = await read_record(transaction)
        held = read_shards(record.shards)
        if shard not in held:
            return None
        await refuse_batches(transaction)
        # Within the lock, so that no other move of the shard is keeping parts.
        await keeper.forget()
        share = await scan.share(transaction, shard)
        await _give_back(transaction, share.tasks, source.now())
        await _withdraw(transaction, share.tasks)
        await _keep_all(transaction, share, keeper)
        await _delete_all(transaction, share, source.now())
        await write_record(transaction, replace(record, shards=written_shards(held - {shard})))
        before_commit()
        return len(share.tasks)


async def _give_back(transaction: Transaction, tasks: Sequence[str], now: float) -> None:
    for chunk in rows.chunks(tasks):
        await transaction.execute(Q["give_back"], (chunk, now))


async def _withdraw(transaction: Transaction, tasks: Sequence[str]) -> None:
    """Deletes requests that no Agent has taken: the new owner sends them again, and cannot revoke these."""
    for chunk in rows.chunks(tasks):
        await transaction.execute(Q["withdraw"], (chunk,))


async def _keep_all(transaction: Transaction, share: Share, keeper: Keeper) -> None:
    pieces: list[Piece] = []
    for piece in [*await _of_tasks(transaction, share.tasks), *await _of_keys(transaction, share)]:
        for start in range(0, len(piece.rows), rows.ROWS_READ):
            pieces.append(piece._replace(rows=piece.rows[start : start + rows.ROWS_READ]))
            if sum(_size(part) for part in pieces) >= rows.PART_BYTES:
                await keeper.keep(rows.written(pieces))
                pieces = []
    if pieces:
        await keeper.keep(rows.written(pieces))


def _size(piece: Piece) -> int:
    return sum(len(cell) if isinstance(cell, bytes | str) else 8 for row in piece.rows for cell in row)


async def _of_tasks(transaction: Transaction, tasks: Sequence[str]) -> list[Piece]:
    found = [await _piece(transaction, table, owner, tasks) for table, owner in rows.OF_TASK.items()]
    alerts = next(piece for piece in found if piece.table == "stepward_alert")
    number = alerts.columns.index("number")
    return [*found, await _piece(transaction, rows.WITH_ALERT, "number", [row[number] for row in alerts.rows])]


async def _of_keys(transaction: Transaction, share: Share) -> list[Piece]:
    pieces = [
        await _piece(transaction, "stepward_message", "token", share.messages),
        await _piece(transaction, "stepward_dead_letter", "number", share.letters),
        await _piece(transaction, "stepward_schedule", "name", share.schedules),
    ]
    named = await _piece(transaction, "stepward_submission_key", "key", sorted({key for _, _, key in share.keys}))
    return [*pieces, named]


async def _piece(transaction: Transaction, table: str, column: str, values: Sequence[Any]) -> Piece:
    columns = await rows.columns_of(transaction, table)
    return Piece(table, columns, await rows.rows_of(transaction, table, column, values))


async def _delete_all(transaction: Transaction, share: Share, now: float) -> None:
    passes_permits = False
    for chunk in rows.chunks(share.tasks):
        passes_permits |= bool((await transaction.execute(Q["permits"], (chunk,)))[0][0])
        await transaction.execute(Q["delete_receipts"], (chunk,))
    for table, owner in rows.OF_TASK.items():
        await rows.delete_rows(transaction, table, owner, share.tasks)
    await rows.delete_rows(transaction, rows.WITH_MESSAGE, "token", share.messages)
    await rows.delete_rows(transaction, "stepward_message", "token", share.messages)
    await rows.delete_rows(transaction, "stepward_dead_letter", "number", share.letters)
    await rows.delete_rows(transaction, "stepward_schedule", "name", share.schedules)
    await rows.delete_rows(transaction, "stepward_submission_key", "key", sorted({key for _, _, key in share.keys}))
    if passes_permits:
        await transaction.execute(Q["ask_again"], (now,))
