"""The stores of the application under torture: PostgreSQL servers that are stopped and started, or SQLite files."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import asyncpg

from servers import postgres
from servers.postgres import Server

KINDS = ("postgresql", "sqlite")
AGAIN_SECONDS = 0.5
STOPPED = (OSError, asyncpg.PostgresConnectionError, asyncpg.OperatorInterventionError, asyncpg.InterfaceError)
"""What a statement raises at a server that is stopped before or meanwhile, or that starts."""


class TortureStores(Protocol):
    """The stores of one application, in the order of its list."""

    @property
    def addresses(self) -> Sequence[str]:
        """Of each partition."""
        ...

    @property
    def servers(self) -> Sequence[Server]:
        """The servers, which can be stopped; none where a store is a file."""
        ...

    def on(self, server: int) -> frozenset[int]:
        """The partitions, counted from 1, on the server of that index."""
        ...

    async def make(self) -> str:
        """Make one more store, empty, the last, once its server runs; its address."""
        ...


class ServerStores:
    """A database on each of some servers; those that are added are spread over the same servers."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self.servers = servers
        self.addresses = [server.address() for server in servers]

    def on(self, server: int) -> frozenset[int]:
        count = len(self.servers)
        return frozenset(n for n in range(1, len(self.addresses) + 1) if (n - 1) % count == server)

    async def make(self) -> str:
        number = len(self.addresses) + 1
        server = self.servers[(number - 1) % len(self.servers)]
        while not await _is_made(server, f"p{number}"):  # noqa: ASYNC110  a server that starts sets no event of ours
            await asyncio.sleep(AGAIN_SECONDS)
        self.addresses.append(server.address(f"p{number}"))
        return self.addresses[-1]


class FileStores:
    """A file for each store, in one folder."""

    servers: Sequence[Server] = ()

    def __init__(self, folder: Path, count: int) -> None:
        self._folder = folder
        self.addresses = [self._file(number) for number in range(1, count + 1)]

    def on(self, server: int) -> frozenset[int]:
        raise IndexError(f"expected no server of files, found number {server}")

    async def make(self) -> str:
        self.addresses.append(self._file(len(self.addresses) + 1))
        return self.addresses[-1]

    def _file(self, number: int) -> str:
        return f"sqlite:///{self._folder}/p{number}.db"


async def _is_made(server: Server, database: str) -> bool:
    """Whether the server has the database now; False where it is stopped."""
    with suppress(asyncpg.DuplicateDatabaseError):
        try:
            await server.execute(f"create database {database}")
        except STOPPED:
            return False
    return True


@contextmanager
def storing(kind: str, count: int) -> Iterator[TortureStores]:
    """That many new stores of that kind, gone with the block."""
    with ExitStack() as stack:
        if kind == "sqlite":
            yield FileStores(Path(stack.enter_context(TemporaryDirectory(prefix="stepward-partitions-"))), count)
        else:
            yield ServerStores([stack.enter_context(postgres.running()) for _ in range(count)])
