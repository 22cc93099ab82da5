"""Queues in the store, for Agents in other processes without a broker."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from stepward.model.messages.change_kinds import of_queue
from stepward.store.contract import StoredMessage
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.database import Database
from stepward.store.postgres.hot.gap_reader import GapReader
from stepward.store.postgres.hot.queue_watermarks import QueueWatermarks
from stepward.store.verbs.engine import VerbEngine
from stepward.store.verbs.queues.messages import MessageVerbs


class PostgresMessages(MessageVerbs):
    """Implements ``MessageStore`` on PostgreSQL."""

    def __init__(self, engine: VerbEngine, database: Database) -> None:
        super().__init__(engine)
        self._lane = database.others
        self._gap_reader = GapReader()
        self._watermarks = QueueWatermarks(database)

    async def take(self, queue: str, limit: int, lease: float) -> list[StoredMessage]:
        now = self._clock.now()
        until = now + lease
        taken: list[StoredMessage] = []
        while len(taken) < limit:
            watermark = await self._watermarks.of(queue)
            began = asyncio.get_running_loop().time()
            values = (queue, now, limit - len(taken), until, *watermark)
            found = await self._lane.single(Connection.rows, "messages.take", *values)
            took = asyncio.get_running_loop().time() - began
            self._watermarks.looked(queue, took, max((row[0] for row in found), default=0))
            taken += [StoredMessage(token, body, tries, until) for token, body, tries in found if tries is not None]
            if all(row[-1] is not None for row in found):
                break  # None had expired: there is no more.
        return taken

    async def answer(
        self, queue: str, bodies: Sequence[tuple[bytes, float | None]], asked: str, tokens: Sequence[int]
    ) -> None:
        texts, ends = [body for body, _ in bodies], [expires_at for _, expires_at in bodies]
        await self._lane.single(Connection.change, "messages.answer", texts, ends, queue, list(tokens), asked)
        self._ring(of_queue(queue))

    async def read(self, queue: str, after: int, limit: int, reader: str = "") -> list[StoredMessage]:
        return await self._lane.read(self._read, queue, after, limit, reader)

    async def _read(
        self, connection: Connection, queue: str, after: int, limit: int, reader: str
    ) -> list[StoredMessage]:
        look = self._gap_reader.look(f"{queue} {reader}", after, self._lane.pool.made)
        query = "messages.read" if look.since is None else "messages.read_since"
        since = () if look.since is None else (look.since,)
        found = await connection.rows(query, queue, look.above, limit, self._clock.now(), *since)
        there = [StoredMessage(token, body, 1) for _, token, body in found if token is not None]
        numbers = [message.token for message in there]
        new = frozenset(look.new(numbers))
        self._gap_reader.saw(look, found[0][0], numbers, limit)
        return [message for message in there if message.token in new]

    async def adopt(self, queue: str, heir: str) -> int:
        try:
            return await super().adopt(queue, heir)
        finally:
            self._watermarks.forget(heir)
