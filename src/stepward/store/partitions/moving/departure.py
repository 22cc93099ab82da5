"""How a shard leaves a store: one transaction that keeps the other writers waiting, and commits where the shard goes.

Before it commits everything is kept in the new store, unseen; after it nothing is left here. A task that a Scheduler
works on is given up by it as after a takeover: its next change does not apply.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from stepward.errors import Refused, StoreUnavailable
from stepward.runtime.cancelling import retrieve
from stepward.store.contract import Transaction
from stepward.store.contract.values.partition_record import PartitionRecord
from stepward.store.partitions.moving import rows
from stepward.store.partitions.moving.rows import Piece
from stepward.store.partitions.moving.scan import Scan, Share
from stepward.store.partitions.moving.tables import MovingTables
from stepward.store.partitions.placement import read_shards
from stepward.store.partitions.placement import written as written_shards

KEEP_SECONDS = 4.0
"""Most seconds for which a part may take in the new store: as long as the writers of the other one wait."""


class Keeper(Protocol):
    """Keeps the parts of what leaves in the new store, unseen."""

    async def forget(self) -> None:
        """Deletes the parts of a move that was cut off before its commit. Raises Refused while a batch runs there."""
        ...

    async def keep(self, part: bytes) -> None:
        """Keeps one more part."""
        ...


async def read_record(tables: MovingTables, transaction: Transaction) -> PartitionRecord:
    """The record of a partition, which does not change before the transaction ends."""
    ((value,),) = await tables.run(transaction, "record")
    return msgspec.json.decode(value, type=PartitionRecord)


async def write_record(tables: MovingTables, transaction: Transaction, record: PartitionRecord) -> None:
    """Replaces the record."""
    await tables.run(transaction, "write_record", msgspec.json.encode(record).decode())


async def refuse_batches(tables: MovingTables, transaction: Transaction) -> None:
    """Raises Refused while a batch runs: it would miss a task that moves, or act on it twice."""
    if (await tables.run(transaction, "batches"))[0][0]:
        raise Refused("partitions: expected no batch under way, found one; wait for it, or stop it, and move again")


class PromptKeeper:
    """Keeps parts by another keeper, and gives up one that does not answer: the store that is left waits locked.

    Its methods raise StoreUnavailable then.
    """

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    async def forget(self) -> None:
        """As ``Keeper.forget``."""
        await _prompt(self._keeper.forget())

    async def keep(self, part: bytes) -> None:
        """As ``Keeper.keep``."""
        await _prompt(self._keeper.keep(part))


async def _prompt(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.create_task(work)
    try:
        await asyncio.wait([task], timeout=KEEP_SECONDS)
        if not task.done():
            raise StoreUnavailable(
                f"partitions: expected the new store to keep a part of a shard within {KEEP_SECONDS:g} s, found no "
                "answer; the shard stays where it was: look at the new store, and move again"
            )
        task.result()
    finally:
        if not task.done():
            # Its end may take as long as the store does not answer, and the other store would wait for it.
            task.add_done_callback(retrieve)
            task.cancel()


async def leave(
    source: MovingTables, shard: int, scan: Scan, keeper: Keeper, before_commit: Callable[[], None]
) -> int | None:
    """Lets a shard go; returns how many tasks went, None where it has gone before.

    Raises Refused while a batch runs, StoreUnavailable where the new store does not answer in time.

    The commit is the point from which the new store has the shard, whether or not it has taken it in yet.
    """
    async with source.alone() as transaction:
        record = await read_record(source, transaction)
        held = read_shards(record.shards)
        if shard not in held:
            return None
        await refuse_batches(source, transaction)
        # Within the lock, so that no other move of the shard is keeping parts.
        prompt = PromptKeeper(keeper)
        await prompt.forget()
        departing = Departing(source, transaction, await scan.share(transaction, shard))
        await departing.release()
        await departing.keep(prompt)
        await departing.delete()
        await write_record(source, transaction, replace(record, shards=written_shards(held - {shard})))
        before_commit()
        return len(departing.share.tasks)


class Departing:
    """What one shard has in the store that it leaves, with the store locked."""

    def __init__(self, source: MovingTables, transaction: Transaction, share: Share) -> None:
        self.share = share
        self._source = source
        self._transaction = transaction

    async def release(self) -> None:
        """Releases the tasks that a Scheduler works on, and deletes requests that no Agent has taken: the new owner
        sends them again, and cannot revoke these."""
        for chunk in rows.chunks(self.share.tasks):
            await self._run("give_back", chunk, self._source.now())
            await self._run("unwatch", chunk, self._source.now())
        for chunk in rows.chunks(self.share.tasks):
            await self._run("withdraw", chunk)

    async def keep(self, keeper: Keeper) -> None:
        """Keeps every row in the new store."""
        for part in rows.parts([*await self._of_tasks(), *await self._of_keys()]):
            await keeper.keep(part)

    async def delete(self) -> None:
        """Deletes every row here; tasks that wait for a permit ask again where one has gone."""
        passes_permits = False
        for chunk in rows.chunks(self.share.tasks):
            passes_permits |= bool((await self._run("permits", chunk))[0][0])
            await self._run("delete_receipts", chunk)
        for table, column, values in self._places():
            await self._source.delete(self._transaction, table, column, values)
        if passes_permits:
            await self._run("ask_again", self._source.now())

    def _places(self) -> list[tuple[str, str, Sequence[Any]]]:
        share = self.share
        return [
            *((table, owner, share.tasks) for table, owner in rows.OF_TASK.items()),
            (rows.WITH_MESSAGE, "token", share.messages),
            ("stepward_message", "token", share.messages),
            ("stepward_dead_letter", "number", share.letters),
            ("stepward_schedule", "name", share.schedules),
            ("stepward_submission_key", "key", self._keys),
        ]

    @property
    def _keys(self) -> list[str]:
        return sorted({key for _, _, key in self.share.keys})

    async def _of_tasks(self) -> list[Piece]:
        found = [await self._piece(table, owner, self.share.tasks) for table, owner in rows.OF_TASK.items()]
        alerts = next(piece for piece in found if piece.table == "stepward_alert")
        number = alerts.columns.index("number")
        return [*found, await self._piece(rows.WITH_ALERT, "number", [row[number] for row in alerts.rows])]

    async def _of_keys(self) -> list[Piece]:
        return [
            await self._piece("stepward_message", "token", self.share.messages),
            await self._piece("stepward_dead_letter", "number", self.share.letters),
            await self._piece("stepward_schedule", "name", self.share.schedules),
            await self._piece("stepward_submission_key", "key", self._keys),
        ]

    async def _piece(self, table: str, column: str, values: Sequence[Any]) -> Piece:
        order = rows.GENERATED.get(table, column)
        return Piece(table, *await self._source.rows(self._transaction, table, column, values, order))

    async def _run(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return await self._source.run(self._transaction, query, *values)
