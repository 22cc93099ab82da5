"""One service as a process: its file, its socket, its way to start and to stop."""

from __future__ import annotations

import socket
import sqlite3
from pathlib import Path

import uvicorn

from examples.shop.services.connection import HttpConnection
from examples.shop.services.database import open_database
from examples.shop.services.faults import FaultBook
from examples.shop.services.ledger import Ledger
from examples.shop.services.service import Service
from examples.shop.services.web import Endpoints, build
from servers.web import KeptServer, exit_cleanly_at_signals

LOOPBACK = "127.0.0.1"
KEEP_ALIVE_SECONDS = 120
LONGEST_STOP_SECONDS = 5


def serve(service: Service, ledger_path: Path, place: tuple[str, int], *, is_tethered: bool = False) -> None:
    """Serve at host and port until SIGTERM or SIGINT; port 0 takes a free one, and the printed line names it.

    A tethered service also ends when its standard input is closed: when the process that started it has ended.
    """
    connection = open_database(ledger_path, service)
    exit_cleanly_at_signals()
    try:
        ServiceServer(service, connection, place, is_tethered=is_tethered).run()
    finally:
        connection.close()


class ServiceServer(KeptServer):
    """One service over its open file."""

    def __init__(
        self, service: Service, connection: sqlite3.Connection, place: tuple[str, int], *, is_tethered: bool
    ) -> None:
        host, port = place
        self._endpoints = Endpoints(
            service=service,
            ledger=Ledger(connection, service),
            faults=FaultBook(connection, service),
        )
        config = uvicorn.Config(
            build(self._endpoints),
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
        super().__init__(config, service.name, is_tethered=is_tethered)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop, and let requests that wait for a fault to be over end at once."""
        self._endpoints.stopping.set()
        await super().shutdown(sockets)
