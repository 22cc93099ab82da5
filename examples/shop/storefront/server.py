"""The storefront as a process: its door, its file, its socket, its way to start and to stop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import uvicorn

from examples.shop.storefront.half_open import HalfOpen
from examples.shop.storefront.records import Records
from examples.shop.storefront.storefront import Storefront
from examples.shop.storefront.web import build
from servers.web import KeptServer, exit_cleanly_at_signals
from stepward import Queues

KEEP_ALIVE_SECONDS = 30
LONGEST_STOP_SECONDS = 5
MOST_CONNECTIONS = 500


async def run(
    queues: str, database: Path, name: str, *, host: str, port: int, is_tethered: bool, hosts: Sequence[str] = ()
) -> None:
    """Open the storefront's door and its file, and serve."""
    async with Queues(queues, app="orders") as door:
        with closing(Records(database)) as records:
            storefront = Storefront(name=name, door=door, records=records)
            await serve(storefront, host, port, is_tethered=is_tethered, hosts=hosts)


async def serve(
    storefront: Storefront, host: str, port: int, *, is_tethered: bool = False, hosts: Sequence[str] = ()
) -> None:
    """Serve until SIGTERM or SIGINT; port 0 takes a free one, and the printed line names it.

    `hosts` are names under which browsers may ask, beside localhost and the address.

    A tethered storefront also ends when its standard input is closed: when the process that started it ends. One that
    cannot listen to its response queue any more ends too, with the error.
    """
    exit_cleanly_at_signals()
    server = StorefrontServer(storefront, host, port, is_tethered=is_tethered, hosts=[host, *hosts])
    async with _listening(storefront, server):
        await server.serve()


class StorefrontServer(KeptServer):
    """uvicorn, that says where it listens and lets no open page hold up its end."""

    def __init__(
        self, storefront: Storefront, host: str, port: int, *, is_tethered: bool, hosts: Sequence[str] = ()
    ) -> None:
        config = uvicorn.Config(
            build(storefront, hosts),
            http=HalfOpen,
            host=host,
            port=port,
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=LONGEST_STOP_SECONDS,
        )
        super().__init__(config, "storefront", is_tethered=is_tethered)
        self._bell = storefront.bell

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell the pages that follow an order, and stop."""
        self._bell.stop()
        await super().shutdown(sockets)


@asynccontextmanager
async def _listening(storefront: Storefront, server: StorefrontServer) -> AsyncIterator[None]:
    listener = asyncio.create_task(storefront.listen(), name=f"listen to {storefront.replies}")
    listener.add_done_callback(lambda _: setattr(server, "should_exit", True))
    try:
        yield
    finally:
        listener.cancel()
        with suppress(asyncio.CancelledError):
            await listener
