"""A remote service in a thread of the tests' process: it begins in a hundredth of the time of one of its own."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from threading import Thread

from examples.shop.services.__main__ import service_of
from examples.shop.services.database import open_database
from examples.shop.services.process import ServiceProcess
from examples.shop.services.server import LOOPBACK, ServiceServer
from examples.shop.services.stock import INITIAL_QUANTITIES

READY_SECONDS = 60


class ServiceThread(ServiceProcess):
    """One service, asked as its process is; what ends a process, such as the fault ``crash``, is not for it."""

    def __init__(self, name: str, ledger: Path, *, stock: Mapping[str, int] = INITIAL_QUANTITIES) -> None:
        super().__init__(name, ledger)
        self._service = service_of(name, stock)
        self._ledger = ledger
        self._server: Announced | None = None
        self._thread: Thread | None = None

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        self._thread = Thread(target=self._serve, args=(lambda: loop.call_soon_threadsafe(ready.set),))
        self._thread.start()
        async with asyncio.timeout(READY_SECONDS):
            await ready.wait()
        assert self._server is not None
        self.port = self._server.port

    async def terminate(self) -> int | None:
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            await asyncio.to_thread(self._thread.join)
        return None

    async def kill(self) -> int | None:
        return await self.terminate()

    def _serve(self, on_ready: Callable[[], object]) -> None:
        with closing(open_database(self._ledger, self._service)) as connection:
            place = (LOOPBACK, self.port or 0)
            self._server = Announced(self._service, connection, place, is_tethered=False)
            self._server.on_ready = on_ready
            self._server.run()


class Announced(ServiceServer):
    """Says when it listens."""

    on_ready: Callable[[], object]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_ready()
