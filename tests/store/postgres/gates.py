"""Stores whose statements stop at a gate: a test lets each through, and sees which of them a lock holds up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from typing import Any

import asyncpg

from stepward.store.postgres import PostgresStore
from stepward.store.postgres.engine.connection import Connection

WITHIN = 120.0
"""Seconds for one meeting; a deadlock or a lost wake-up ends the test."""
MOST = 40
"""Statements that a verb has at most."""
USUAL_SECONDS = 0.005
"""A statement that takes longer may be held up by a lock; to ask the server each time would cost as much again."""

Verb = Callable[[], Awaitable[Any]]


class Gate:
    """Before every statement of a store's verbs, a stop."""

    def __init__(self, store: PostgresStore) -> None:
        self.pids: set[int] = set()
        self._stood = 0
        self._let = MOST
        self._moved = asyncio.Event()
        self._arrived = asyncio.Event()
        self._doing: asyncio.Task[Any] | None = None
        connect = store._database.connector.connect

        async def gated(settings: dict[str, str], seconds: float = 60.0) -> Connection:
            connection = await connect(settings, seconds)
            self.pids.add(connection.raw.get_server_pid())
            connection.raw = GatedConnection(connection.raw, self)  # type: ignore[assignment]  # stands in for it
            return connection

        store._database.connector.connect = gated  # type: ignore[method-assign]  # this store's alone

    async def stop(self) -> None:
        """Wait until the statement may go."""
        self._stood += 1
        self._arrived.set()
        number = self._stood
        while number > self._let:
            self._moved.clear()
            await self._moved.wait()

    def begin(self, verb: Verb) -> None:
        """Have the verb stand before its first statement."""
        self._stood = self._let = 0
        self._doing = asyncio.get_running_loop().create_task(_kept(verb))
        self._doing.add_done_callback(lambda _: self._arrived.set())

    async def forward(self, statements: int, observer: asyncpg.Connection[asyncpg.Record]) -> bool:
        """Let so many statements through in all; False if the verb ended, or stands at a lock, before that."""
        assert self._doing is not None
        self._let = statements
        self._moved.set()
        while self._stood <= statements:
            if self._doing.done():
                return False
            if not await self._arrives() and await observer.fetch(WAITING, list(self.pids)):
                return False
        return True

    async def _arrives(self) -> bool:
        """Whether the verb stands before its next statement, or is over, in the time that one usually takes."""
        self._arrived.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(USUAL_SECONDS):
                await self._arrived.wait()
        return self._arrived.is_set()

    async def end(self) -> Any:
        """Let everything through; what the verb returned or raised."""
        assert self._doing is not None
        self._let = MOST
        self._moved.set()
        return await self._doing

    @property
    def over(self) -> bool:
        """Whether the verb has come to its end."""
        return self._doing is not None and self._doing.done()


WAITING = "select 1 from pg_locks where not granted and pid = any($1::integer[])"


class GatedConnection:
    """The driver's connection, behind a gate."""

    def __init__(self, raw: asyncpg.Connection[asyncpg.Record], gate: Gate) -> None:
        self._raw = raw
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    async def fetch(self, *args: Any) -> Any:
        await self._gate.stop()
        return await self._raw.fetch(*args)

    async def execute(self, *args: Any, **options: Any) -> Any:
        await self._gate.stop()
        return await self._raw.execute(*args, **options)


async def _kept(verb: Verb) -> Any:
    """What the verb returns, or the error that it raises."""
    try:
        return await verb()
    except Exception as error:
        return error


class Scene:
    """Two verbs on rows of their own, and what must hold when both are over; a test makes one for each meeting."""

    async def make(self) -> None:
        raise NotImplementedError

    async def left(self) -> Any:
        raise NotImplementedError

    async def right(self) -> Any:
        raise NotImplementedError

    async def check(self, left: Any, right: Any) -> None:
        raise NotImplementedError


class Meeting:
    """Lets the verbs of two stores meet in every order of their statements, with one turn from each to the other."""

    def __init__(self, left: Gate, right: Gate, observer: asyncpg.Connection[asyncpg.Record]) -> None:
        self._left = left
        self._right = right
        self._observer = observer
        self.orders = 0

    async def every_order(self, scene: Callable[[], Scene]) -> None:
        """One goes some statements far, then the other, then the first to its end, each as far as locks let it."""
        for is_left_first in (True, False):
            for ahead in count():
                is_longer = True
                for behind in count():
                    async with asyncio.timeout(WITHIN):
                        is_longer, goes_on = await self._meet(scene(), is_left_first, ahead, behind)
                    if not goes_on:
                        break
                if not is_longer:
                    break

    async def both_stand(self, scene: Scene) -> tuple[bool, bool]:
        """Let both go as far as locks let them; which of them are held up."""
        for gate, verb in ((self._left, scene.left), (self._right, scene.right)):
            gate.begin(verb)
            await gate.forward(MOST, self._observer)
        return not self._left.over, not self._right.over

    async def both_end(self) -> tuple[Any, Any]:
        """What both return, once nothing holds them up."""
        return await self._left.end(), await self._right.end()

    async def _meet(self, scene: Scene, is_left_first: bool, ahead: int, behind: int) -> tuple[bool, bool]:
        self.orders += 1
        await scene.make()
        first, second = (self._left, self._right) if is_left_first else (self._right, self._left)
        verbs = (scene.left, scene.right) if is_left_first else (scene.right, scene.left)
        first.begin(verbs[0])
        is_longer = await first.forward(ahead, self._observer)
        second.begin(verbs[1])
        goes_on = await second.forward(behind, self._observer)
        await first.forward(MOST, self._observer)
        results = (await second.end(), await first.end())[::-1]
        await scene.check(*(results if is_left_first else results[::-1]))
        return is_longer, goes_on
