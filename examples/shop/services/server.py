"""One service as a process: its file, its socket, its way to start and to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path
from types import FrameType

import uvicorn

from examples.shop.services.connection import HttpConnection
from examples.shop.services.database import open_database
from examples.shop.services.faults import FaultBook
from examples.shop.services.ledger import Ledger
from examples.shop.services.service import Service
from examples.shop.services.web import Endpoints, build

LOOPBACK = "127.0.0.1"
KEEP_ALIVE_SECONDS = 120
LONGEST_STOP_SECONDS = 5


def serve(service: Service, ledger_path: Path, place: tuple[str, int], *, is_tethered: bool = False) -> None:
    """Serve at host and port until SIGTERM or SIGINT; port 0 takes a free one, and the printed line names it.

    A tethered service also ends when its standard input is closed: when whoever started it is gone.
    """
    host, port = place
    connection = open_database(ledger_path, service)
    endpoints = Endpoints(
        service=service,
        ledger=Ledger(connection, service),
        faults=FaultBook(connection, service),
    )
    config = uvicorn.Config(
        build(endpoints),
        host=host,
        port=port,
        http=HttpConnection,
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=LONGEST_STOP_SECONDS,
    )
    # The server raises the signal again once it has stopped: by then it means a clean exit.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    try:
        _Server(config, endpoints, is_tethered=is_tethered).run()
    finally:
        connection.close()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, endpoints: Endpoints, *, is_tethered: bool) -> None:
        super().__init__(config)
        self._endpoints = endpoints
        self._is_tethered = is_tethered

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._is_tethered:
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read_on)
        port = self.servers[0].sockets[0].getsockname()[1]
        print(f"{self._endpoints.service.name} listening on http://{self.config.host}:{port}", flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._endpoints.stopping.set()
        await super().shutdown(sockets)

    def _read_on(self) -> None:
        if not os.read(sys.stdin.fileno(), 1024):
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self.should_exit = True


def _leave(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)
