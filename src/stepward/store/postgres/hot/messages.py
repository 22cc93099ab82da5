"""Queues in the store, for Agents in other processes without a broker."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from stepward.store.contract import StoredMessage
from stepward.store.postgres.engine.columns import columns_of
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.database import Database
from stepward.store.postgres.engine.notifier import Notifier
from stepward.store.postgres.hot.gap_reader import GapReader
from stepward.store.postgres.hot.queue_watermarks import Floors
from stepward.store.rules import queues
from stepward.store.verbs import dead_letters


class PostgresMessages:
    """Implements ``MessageStore``."""

    def __init__(self, database: Database, notifier: Notifier) -> None:
        self._lane = database.others
        self._clock = database.clock
        self._notifier = notifier
        self._gap_reader = GapReader()
        self._floors = Floors(database)

    def now(self) -> float:
        return self._clock.now()

    async def put(self, queue: str, bodies: Sequence[tuple[bytes, float | None]]) -> None:
        if bodies:
            await self._lane.single(Connection.change, "messages.put", queue, *columns_of(bodies))
            self._notifier.ring()

    async def take(self, queue: str, limit: int, lease: float) -> list[StoredMessage]:
        now = self._clock.now()
        until = now + lease
        taken: list[StoredMessage] = []
        while len(taken) < limit:
            floor = await self._floors.of(queue)
            began = asyncio.get_running_loop().time()
            values = (queue, now, limit - len(taken), until, *floor)
            found = await self._lane.single(Connection.rows, "messages.take", *values)
            took = asyncio.get_running_loop().time() - began
            self._floors.looked(queue, took, max((row[0] for row in found), default=0))
            taken += [StoredMessage(token, body, tries, until) for token, body, tries in found if tries is not None]
            if all(row[-1] is not None for row in found):
                break  # None had expired: there is no more.
        return taken

    async def settle(self, queue: str, tokens: Sequence[int]) -> None:
        await self._lane.single(Connection.change, "messages.delete", list(tokens), queue)

    async def extend(self, queue: str, tokens: Sequence[int], lease: float) -> list[int]:
        until = self._clock.now() + lease
        if await self._lane.single(Connection.change, "messages.extend", list(tokens), queue, until) == len(tokens):
            return []
        there = {
            token for (token,) in await self._lane.read(Connection.rows, "messages.are_there", list(tokens), queue)
        }
        return [token for token in tokens if token not in there]

    async def withdraw(self, queue: str, beginning: bytes, part: bytes) -> list[StoredMessage]:
        values = (queue, *queues.request_range(beginning), beginning, part)
        found = await self._lane.single(Connection.rows, "messages.withdraw", *values)
        return [StoredMessage(token, body, tries) for token, body, tries in found]

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

    async def bury(
        self, queue: str, letters: Sequence[tuple[int, str]], told: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        if letters:
            await self._lane.write(dead_letters.bury, queue, letters, told, self._clock.now())
            if told:
                self._notifier.ring()

    async def bury_bodies(
        self, queue: str, letters: Sequence[tuple[bytes, str, int]], told: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        if letters:
            await self._lane.write(dead_letters.bury_bodies, queue, letters, told, self._clock.now())
            if told:
                self._notifier.ring()

    async def filled(self, queues: Sequence[str]) -> set[str]:
        found = await self._lane.read(Connection.rows, "messages.filled", list(queues), self._clock.now())
        return {queue for (queue,) in found}

    async def standing(self, prefix: str, limit: int) -> list[str]:
        values = (prefix, queues.end_of_prefix(prefix), limit)
        return [queue for (queue,) in await self._lane.read(Connection.rows, "messages.standing", *values)]

    async def adopt(self, queue: str, heir: str) -> int:
        try:
            count = await self._lane.single(Connection.change, "messages.adopt", queue, heir)
        finally:
            self._floors.forget(heir)
        if count:
            self._notifier.ring()
        return count
