"""A storefront that really listens, in the process of the test."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

from examples.shop.storefront.server import StorefrontServer
from examples.shop.storefront.storefront import Storefront


class Site(StorefrontServer):
    """The server of the storefront, and the event that it is ready."""

    def __init__(self, storefront: Storefront, port: int = 0) -> None:
        super().__init__(storefront, "127.0.0.1", port, is_tethered=False)
        self._ready = asyncio.Event()
        self._served: asyncio.Task[None] | None = None
        self.known_port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.known_port}"

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.known_port = self.port
        self._ready.set()

    async def stop(self) -> None:
        """End as at a signal, and return when all is over."""
        self.should_exit = True
        if self._served is not None:
            await self._served

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Self]:
        self._served = asyncio.create_task(self.serve())
        async with asyncio.timeout(10):
            await self._ready.wait()
        try:
            yield self
        finally:
            await self.stop()
