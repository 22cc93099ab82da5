"""The gate that keeps the shards of a partition in their store: each transaction enters it as it begins.

The move of a shard closes the gate: it waits for every transaction which has entered, and lets none enter.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import asyncpg
import msgspec

from stepward.errors import StoreUnavailable
from stepward.store.contract import PartitionRecord
from stepward.store.partitions.placement import read_shards, shard_of
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.error_translation import MISSED
from stepward.store.postgres.engine.query_catalogue import load_catalogue
from stepward.store.postgres.hot.compact_rows import form_of
from stepward.store.store_errors import ShardElsewhere

TRIES = 5
"""How often what was known of the record is read again: it changes when a shard moves."""
INTO_ROWS = " on conflict (id)"
TEXTS_KEPT = 32


class ShardGate:
    """What this process knows of the shards that the store holds; the server proves it with each use."""

    def __init__(self, schema: str) -> None:
        self._schema = schema
        self._queries = load_catalogue(schema)
        self.held: str | None = None
        """As in the record; None where the store is no partition: then there is no gate."""

    def saw(self, record: PartitionRecord | None) -> None:
        """Notes the record as it was read."""
        self.held = None if record is None else record.shards

    def elsewhere(self, id: str) -> ShardElsewhere | None:
        """The error of a task of that id, if the store was not seen to hold its shard."""
        is_here = self.held is None or shard_of(id) in read_shards(self.held)
        return None if is_here else ShardElsewhere(shard_of(id))

    async def begin(self, connection: Connection) -> None:
        """Begins a transaction that has entered the gate, in one message. Raises what the server raises."""
        for _ in range(TRIES):
            connection.held = self.held
            if self.held is None:
                await connection.run("begin")
                return
            # Of its own, as the snapshot of the statement that waits is older than what it waits for.
            enter, held = self._queries["shards.enter"], self._queries["shards.held"].replace("$1", f"'{self.held}'")
            try:
                await connection.run(f"begin isolation level read committed; {enter}; {held}")
            except asyncpg.PostgresError as error:
                if not connection.raw.is_closed():
                    await connection.run("rollback")
                if error.sqlstate != MISSED:
                    raise
            else:
                return
            await self.look(connection)
        raise StoreUnavailable("store: expected its shards to stay for a moment, found them moving; ask again")

    async def look(self, connection: Connection) -> None:
        """Reads the record again."""
        row = await connection.row("host.partition")
        self.saw(None if row is None else msgspec.json.decode(row[0], type=PartitionRecord))

    async def insert(
        self, connection: Connection, query: str, ids: Sequence[str], many: Sequence[Sequence[Any]]
    ) -> list[Any]:
        """Inserts rows of tasks of these ids with one statement that commits by itself; the rows that it returns.

        Raises ShardElsewhere, with nothing inserted, where the store does not hold the shard of one.
        """
        for _ in range(TRIES):
            for id in ids:
                if (refusal := self.elsewhere(id)) is not None:
                    raise refusal
            if self.held is None:
                return await connection.insert_each(query, many)
            form, columns = form_of(query, many)
            sql = _guarded(self._schema, form, len(columns) + 1)
            try:
                # The server locks the tables of a statement before it takes the snapshot in which it runs: one that
                # has waited for a shard to leave sees that it has left.
                return await connection.fetched(sql, *connection.sent(form, columns), self.held)
            except asyncpg.PostgresError as error:
                if error.sqlstate != MISSED:
                    raise
            await self.look(connection)
        raise ShardElsewhere(shard_of(ids[0]))


@lru_cache(maxsize=TEXTS_KEPT)
def _guarded(schema: str, query: str, place: int) -> str:
    """A statement that inserts tasks, with one parameter more, the shards that the store is to hold: where it holds
    others the statement fails."""
    book = load_catalogue(schema)
    held = book["shards.held"].replace("$1", f"${place}::text")
    return book[query].replace(INTO_ROWS, f" where ({held}) = 0{INTO_ROWS}")
