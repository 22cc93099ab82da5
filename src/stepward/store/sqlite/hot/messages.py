"""Taking messages of a queue in the store, and reading them in order."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.messages.change_kinds import of_queue
from stepward.store.contract import StoredMessage
from stepward.store.named_queries import load_queries
from stepward.store.sqlite.engine.connection import Connection, Row
from stepward.store.sqlite.engine.database import Database
from stepward.store.sqlite.engine.parameters import FRAGMENTS
from stepward.store.verbs.engine import VerbEngine
from stepward.store.verbs.queues.messages import MessageVerbs

Q = load_queries(__package__, "messages.sql", FRAGMENTS)


class SqliteMessages(MessageVerbs):
    """Implements ``MessageStore`` on a file."""

    def __init__(self, engine: VerbEngine, database: Database) -> None:
        super().__init__(engine)
        self._database = database

    async def take(self, queue: str, limit: int, lease: float) -> list[StoredMessage]:
        """An empty queue costs two reads and no write."""
        now = self.now()
        if not await self._database.snapshot(_standing, queue, 1, now):
            return []
        return await self._database.write(_take, queue, limit, lease, now)

    async def answer(
        self, queue: str, bodies: Sequence[tuple[bytes, float | None]], asked: str, tokens: Sequence[int]
    ) -> None:
        await self._database.write(_answer, queue, bodies, asked, tokens)
        self._ring(of_queue(queue))

    async def read(self, queue: str, after: int, limit: int, reader: str = "") -> list[StoredMessage]:
        values = (queue, after, limit, self.now())
        found = await self._database.read(Connection.rows, Q["read"], values)
        return [StoredMessage(token, body, 1) for token, body in found]


def _answer(
    connection: Connection,
    queue: str,
    bodies: Sequence[tuple[bytes, float | None]],
    asked: str,
    tokens: Sequence[int],
) -> None:
    connection.change_many(Q["put"], [(*body, queue) for body in bodies])
    connection.change_many(Q["delete"], [(token, asked) for token in tokens])


def _standing(connection: Connection, queue: str, limit: int, now: float) -> Sequence[Row]:
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
