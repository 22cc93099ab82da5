"""The keeper of a broker: starts its servers, and starts each that ends again where it was."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from servers.keeper.broker_state import BrokerServer, BrokerStanding
from servers.keeper.process_end import ended


class Kept(Protocol):
    """One server; its verbs block until they are done."""

    @property
    def name(self) -> str:
        """The name by which other processes know the server."""
        ...

    @property
    def port(self) -> int:
        """The port on which it accepts connections."""
        ...

    @property
    def pid(self) -> int:
        """Of the process that all its others descend from."""
        ...

    def start(self) -> None:
        """Start it where it was, and wait until it does its part."""
        ...

    def kill(self) -> None:
        """End what is left of it."""
        ...


class Keeper:
    """Keeps the servers that `begin` has begun; one that ended is started again after `away` seconds."""

    def __init__(self, title: str, servers: Sequence[Kept], begin: Callable[[], None], *, away: float) -> None:
        self._title = title
        self._servers = servers
        self._begin = begin
        self._away = away
        self._gone: set[str] = set()

    async def keep(self) -> None:
        """Begin, and mend for ever; raises RuntimeError when that fails."""
        await asyncio.to_thread(self._begin)
        self._tell()
        await asyncio.gather(*(self._keep(server) for server in self._servers))

    async def _keep(self, server: Kept) -> None:
        while True:
            await ended(server.pid)
            self._gone.add(server.name)
            self._tell()
            await asyncio.sleep(self._away)
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
            self._gone.remove(server.name)
            self._tell()

    def _tell(self) -> None:
        running = [each for each in self._servers if each.name not in self._gone]
        servers = tuple(BrokerServer(each.name, each.port, each.pid) for each in running)
        print(msgspec.json.encode(BrokerStanding(self._title, servers, len(self._servers))).decode(), flush=True)
