"""Queues in the store, for Agents in other processes without a broker."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stepward.store.contract import StoredMessage
from stepward.store.queries import load_queries
from stepward.store.rules.queues import end_of_prefix, request_range
from stepward.store.sqlite.engine.clock import StoreClock
from stepward.store.sqlite.engine.connection import Connection, Row
from stepward.store.sqlite.engine.database import Database
from stepward.store.sqlite.engine.parameters import FRAGMENTS
from stepward.store.sqlite.engine.verb_engine import driven
from stepward.store.verbs import dead_letters

Q = load_queries(__package__, "messages.sql", FRAGMENTS)


class SqliteMessages:
    """Implements ``MessageStore``."""

    def __init__(self, database: Database, clock: StoreClock) -> None:
        self._database = database
        self._clock = clock

    def now(self) -> float:
        return self._clock.now()

    async def put(self, queue: str, bodies: Sequence[tuple[bytes, float | None]]) -> None:
        many = [(queue, body, expires_at) for body, expires_at in bodies]
        await self._database.write(Connection.change_many, Q["put"], many)

    async def take(self, queue: str, limit: int, lease: float) -> list[StoredMessage]:
        """An empty queue costs two reads and no write."""
        now = self._clock.now()
        if not await self._database.snapshot(_standing, queue, 1, now):
            return []
        return await self._database.write(_take, queue, limit, lease, now)

    async def settle(self, queue: str, tokens: Sequence[int]) -> None:
        many = [(token, queue) for token in tokens]
        await self._database.write(Connection.change_many, Q["delete"], many)

    async def extend(self, queue: str, tokens: Sequence[int], lease: float) -> list[int]:
        return await self._database.write(_extend, queue, tokens, self._clock.now() + lease)

    async def withdraw(self, queue: str, beginning: bytes, part: bytes) -> list[StoredMessage]:
        values = (queue, *request_range(beginning), beginning, part)
        found = await self._database.write(Connection.rows, Q["withdraw"], values)
        return [StoredMessage(token, body, tries) for token, body, tries in found]

    async def read(self, queue: str, after: int, limit: int, reader: str = "") -> list[StoredMessage]:
        values = (queue, after, limit, self._clock.now())
        found = await self._database.read(Connection.rows, Q["read"], values)
        return [StoredMessage(token, body, 1) for token, body in found]

    async def bury(
        self, queue: str, letters: Sequence[tuple[int, str]], told: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        if letters:
            await self._database.write(driven, dead_letters.bury, queue, letters, told, self._clock.now())

    async def bury_bodies(
        self, queue: str, letters: Sequence[tuple[bytes, str, int]], told: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        if letters:
            await self._database.write(driven, dead_letters.bury_bodies, queue, letters, told, self._clock.now())

    async def filled(self, queues: Sequence[str]) -> set[str]:
        values = (msgspec.json.encode(queues).decode(), self._clock.now())
        return {queue for (queue,) in await self._database.read(Connection.rows, Q["filled"], values)}

    async def standing(self, prefix: str, limit: int) -> list[str]:
        values = (prefix, end_of_prefix(prefix), limit)
        return [queue for (queue,) in await self._database.read(Connection.rows, Q["standing"], values)]

    async def adopt(self, queue: str, heir: str) -> int:
        return await self._database.write(Connection.change, Q["adopt"], (queue, heir))


def _standing(connection: Connection, queue: str, limit: int, now: float) -> list[Row]:
    returned = connection.rows(Q["returned"], (queue, now))
    return returned or connection.rows(Q["fresh"], (queue, limit))


def _take(connection: Connection, queue: str, limit: int, lease: float, now: float) -> list[StoredMessage]:
    while True:
        found = _standing(connection, queue, limit, now)
        expired = [(token, queue) for token, _, expires_at, _ in found if expires_at is not None and expires_at <= now]
        if not expired:
            connection.change_many(Q["hold"], [(token, now + lease) for token, *_ in found])
            return [StoredMessage(token, body, tries + 1, now + lease) for token, body, _, tries in found]
        connection.change_many(Q["delete"], expired)


def _extend(connection: Connection, queue: str, tokens: Sequence[int], until: float) -> list[int]:
    if connection.change_many(Q["extend"], [(token, queue, until) for token in tokens]) == len(tokens):
        return []
    return [token for token in tokens if connection.row(Q["is_there"], (token, queue)) is None]
