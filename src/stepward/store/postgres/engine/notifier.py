"""Word between processes that the store was changed: a hint, which may be lost; every actor looks by itself too.

The bell rings after a commit, on a connection of its own and at most every few milliseconds: within a commit the server
would have all that notify wait for one another.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from stepward.errors import StepwardError
from stepward.model.messages.change_kinds import EVERYTHING, Kinds, received
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.database import Database
from stepward.store.postgres.engine.error_translation import BROKEN, translated

PAUSE_SECONDS = 0.005
RECONNECT_SECONDS = 1.0
LAST_SECONDS = 1.0
LISTEN_SECONDS = 4.0
LOOK_SECONDS = 10.0
"""Seconds between two checks of the age of the server's clock while no notification arrives."""


class Notifier:
    """Rings when this process changed something that others may wait for, and hears the others."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._wanted = asyncio.Event()
        self._kinds: Kinds = 0
        """The kinds of the next notification."""
        self._notified = asyncio.Event()
        self._received: Kinds = 0
        self._connection: Connection | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._own = 0
        """The server's process that we ring through ourselves."""

    def ring(self, kinds: Kinds = EVERYTHING) -> None:
        """Tell the others soon."""
        self._kinds |= kinds
        self._wanted.set()

    def changed(self) -> Kinds:
        """What other processes have notified of since the last call, or may have while no notification could be
        received."""
        received, self._received = self._received, 0
        self._notified.clear()
        return received

    async def stirred(self, every: float) -> None:
        await self._notified.wait()

    async def open(self) -> None:
        """Listens from now on. Through a pooler no notification is received, and sending still works."""
        await self._listen()
        self._keeping = asyncio.get_running_loop().create_task(self._keep())

    async def close(self) -> None:
        """Ring once more if that is wanted, and then no more."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
            self._keeping = None
            if self._wanted.is_set():
                with contextlib.suppress(TimeoutError, StepwardError, *BROKEN):
                    async with asyncio.timeout(LAST_SECONDS):
                        await self._ring()
        if (connection := self._forgotten()) is not None:
            await connection.close()

    async def _listen(self) -> None:
        self._let_go()
        if self._database.connector.pooled:
            return
        self._connection = await self._database.connect()
        self._connection.raw.add_termination_listener(self._lost)
        self._own = self._connection.raw.get_server_pid()
        try:
            async with asyncio.timeout(LISTEN_SECONDS):
                await self._connection.raw.add_listener(self._database.schema, self._hear)
        except BROKEN as error:
            raise translated(error, self._database.place.shown) from error

    def _hear(self, connection: Any, pid: int, channel: str, payload: object) -> None:
        if pid != self._own:
            self._heard(_kinds(str(payload)))

    def _heard(self, kinds: Kinds) -> None:
        self._received |= kinds
        self._notified.set()

    def _lost(self, connection: Any) -> None:
        # The loop that notifies finds out with its next notification, which is now.
        self._wanted.set()

    async def _keep(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._wanted.wait()
            try:
                if self._wanted.is_set():
                    await self._ring()
                elif self._database.clock.is_old():
                    await self._follow()
                pause = PAUSE_SECONDS
            except (StepwardError, *BROKEN):
                self._let_go()
                self._wanted.set()
                pause = RECONNECT_SECONDS
            await asyncio.sleep(pause)

    async def _ring(self) -> None:
        self._wanted.clear()
        kinds, self._kinds = self._kinds or EVERYTHING, 0
        try:
            await self._rung(kinds)
        except BaseException:
            self.ring(kinds)
            raise

    async def _rung(self, kinds: Kinds) -> None:
        if self._database.connector.pooled:
            await self._database.others.read(self._notify, kinds)
            return
        if self._connection is None or not self._connection.usable:
            await self._listen()
            self._heard(EVERYTHING)
        if self._connection is not None:
            await self._notify(self._connection, kinds)

    async def _notify(self, connection: Connection, kinds: Kinds) -> None:
        """The server's clock comes with the answer: who only submits hears of it, too."""
        clock = self._database.clock
        sent = clock.read()
        ((*_, shown),) = await connection.rows("host.notify", self._database.schema, str(kinds))
        clock.heard(shown, sent)

    async def _follow(self) -> None:
        """Asks for the server's clock, because no recent answer has reported it."""
        if self._database.connector.pooled:
            await self._database.others.read(self._database.hear)
        elif self._connection is not None:
            await self._database.hear(self._connection)

    def _let_go(self) -> None:
        if (connection := self._forgotten()) is not None:
            connection.raw.terminate()

    def _forgotten(self) -> Connection | None:
        connection, self._connection = self._connection, None
        if connection is not None and not connection.raw.is_closed():
            connection.raw.remove_termination_listener(self._lost)
        return connection


def _kinds(payload: str) -> Kinds:
    return received(int(payload)) if payload.isdecimal() else EVERYTHING
