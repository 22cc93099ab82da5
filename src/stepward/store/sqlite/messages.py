"""Queues in the store, for Agents in other processes without a broker."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stepward.store.contract import StoredMessage
from stepward.store.queries import load_queries
from stepward.store.rules import verdicts
from stepward.store.rules.verdicts import among_asked, behind, is_full
from stepward.store.sqlite import journal, telling
from stepward.store.sqlite.clock import StoreClock
from stepward.store.sqlite.connection import Connection, Row
from stepward.store.sqlite.database import Database
from stepward.store.sqlite.rows import FRAGMENTS

Q = load_queries(__package__, "messages.sql", FRAGMENTS)

FORGET_LIMIT = 20_000


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
        values = (queue, *among_asked(beginning), beginning, part)
        found = await self._database.write(Connection.rows, Q["withdraw"], values)
        return [StoredMessage(token, body, tries) for token, body, tries in found]

    async def read(self, queue: str, after: int, limit: int, reader: str = "") -> list[StoredMessage]:
        values = (queue, after, limit, self._clock.now())
        found = await self._database.read(Connection.rows, Q["read"], values)
        return [StoredMessage(token, body, 1) for token, body in found]

    async def bury(
        self, queue: str, dead_letters: Sequence[tuple[int, str]], told: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        await self._database.write(_bury, queue, dead_letters, told, self._clock.now())

    async def bury_bodies(
        self, queue: str, dead_letters: Sequence[tuple[bytes, str, int]], told: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        if dead_letters:
            await self._database.write(_bury_bodies, queue, dead_letters, told, self._clock.now())

    async def filled(self, queues: Sequence[str]) -> set[str]:
        values = (msgspec.json.encode(queues).decode(), self._clock.now())
        return {queue for (queue,) in await self._database.read(Connection.rows, Q["filled"], values)}

    async def standing(self, prefix: str, limit: int) -> list[str]:
        values = (prefix, behind(prefix), limit)
        return [queue for (queue,) in await self._database.read(Connection.rows, Q["standing"], values)]

    async def adopt(self, queue: str, heir: str) -> int:
        return await self._database.write(Connection.change, Q["adopt"], (queue, heir))


def forget_expired(connection: Connection, now: float) -> int:
    """Delete expired messages among the oldest, in queues from which nobody takes, and old dead letters."""
    connection.change(Q["forget_letters"], (now - verdicts.DEAD_LETTERS_KEPT_SECONDS, FORGET_LIMIT))
    return connection.change(Q["forget_expired"], (now, FORGET_LIMIT))


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


def _bury(
    connection: Connection,
    queue: str,
    dead_letters: Sequence[tuple[int, str]],
    told: Sequence[tuple[str, bytes]],
    now: float,
) -> None:
    full = _is_full(connection, queue)
    if not full:
        connection.change_many(Q["bury"], [(token, queue, reason, now) for token, reason in dead_letters])
    if count := connection.change_many(Q["delete"], [(token, queue) for token, _ in dead_letters]):
        telling.put(connection, told, now)
        _tell(connection, queue, dead_letters[0][1], now, count=count, dropped=count * full)


def _bury_bodies(
    connection: Connection,
    queue: str,
    dead_letters: Sequence[tuple[bytes, str, int]],
    told: Sequence[tuple[str, bytes]],
    now: float,
) -> None:
    full = _is_full(connection, queue)
    if not full:
        connection.change_many(
            Q["bury_body"], [(queue, body, reason, tries, now) for body, reason, tries in dead_letters]
        )
    telling.put(connection, told, now)
    _tell(connection, queue, dead_letters[0][1], now, count=len(dead_letters), dropped=len(dead_letters) * full)


def _is_full(connection: Connection, queue: str) -> bool:
    return is_full(*connection.rows(Q["letters_of"], (queue,))[0])


def _tell(connection: Connection, queue: str, reason: str, now: float, *, count: int, dropped: int) -> None:
    known = connection.row(Q["open_alert"], (queue,))
    before = b"{}" if known is None else known[1]
    alert = verdicts.dead_letter_alert(queue, reason, now, count=count, dropped=dropped, before=before)
    journal.count_on(connection, known, alert, now)
