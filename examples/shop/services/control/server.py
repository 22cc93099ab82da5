"""The panel as a process: its socket, its way to start and to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

LOOPBACK = "127.0.0.1"
LONGEST_STOP_SECONDS = 5


def serve(panel: ASGIApp, host: str, port: int, *, is_tethered: bool) -> None:
    """Serve until SIGTERM or SIGINT; port 0 takes a free one, and the printed line names it.

    A tethered panel also ends when its standard input is closed: when whoever started it is gone.
    """
    config = uvicorn.Config(
        panel,
        host=host,
        port=port,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=LONGEST_STOP_SECONDS,
    )
    # The server raises the signal again once it has stopped: by then it means a clean exit.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    _Server(config, is_tethered=is_tethered).run()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, *, is_tethered: bool) -> None:
        super().__init__(config)
        self._is_tethered = is_tethered

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._is_tethered:
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read_on)
        port = self.servers[0].sockets[0].getsockname()[1]
        print(f"control listening on http://{self.config.host}:{port}", flush=True)

    def _read_on(self) -> None:
        if not os.read(sys.stdin.fileno(), 1024):
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self.should_exit = True


def _leave(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)
