"""A web application as a process that can be kept: it says where it listens, and hears when it is to end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from types import FrameType

import uvicorn

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class KeptServer(uvicorn.Server):
    """Prints a line once it listens; a tethered one also ends when its standard input is closed.

    That happens when the process that started it is gone.
    """

    def __init__(self, config: uvicorn.Config, name: str, *, is_tethered: bool) -> None:
        super().__init__(config)
        self._name = name
        self._is_tethered = is_tethered

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say where: port 0 of the configuration takes a free one."""
        await super().startup(sockets)
        if self._is_tethered:
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read_on)
        print(f"{self._name} listening on http://{self.config.host}:{self.port}", flush=True)

    @property
    def port(self) -> int:
        """The port, once the server listens."""
        port: int = self.servers[0].sockets[0].getsockname()[1]
        return port

    def _read_on(self) -> None:
        if not os.read(sys.stdin.fileno(), 1024):
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self.should_exit = True


def exit_cleanly_at_signals() -> None:
    """A uvicorn server raises the signal again once it has stopped: by then it means a clean exit."""
    for number in SIGNALS:
        signal.signal(number, _leave)


def _leave(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)
