"""The stores of the application under torture: PostgreSQL servers that are stopped and started, or SQLite files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from servers import postgres
from servers.postgres import Server

KINDS = ("postgresql", "sqlite")


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

    @property
    def gives_shards_away(self) -> bool:
        """Whether a store can be added to an application that has begun, and its share moved there."""
        ...

    def on(self, server: int) -> frozenset[int]:
        """The partitions, counted from 1, on the server of that index."""
        ...

    async def make(self) -> str:
        """Make one more store, empty, the last; its address."""
        ...


class ServerStores:
    """A database on each of some servers; those that are added are spread over the same servers."""

    gives_shards_away = False

    def __init__(self, servers: Sequence[Server]) -> None:
        self.servers = servers
        self.addresses = [server.address() for server in servers]

    def on(self, server: int) -> frozenset[int]:
        count = len(self.servers)
        return frozenset(n for n in range(1, len(self.addresses) + 1) if (n - 1) % count == server)

    async def make(self) -> str:
        number = len(self.addresses) + 1
        server = self.servers[(number - 1) % len(self.servers)]
        await server.execute(f"create database p{number}")
        self.addresses.append(server.address(f"p{number}"))
        return self.addresses[-1]


class FileStores:
    """A file for each store, in one folder."""

    gives_shards_away = True
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


@contextmanager
def storing(kind: str, count: int) -> Iterator[TortureStores]:
    """That many new stores of that kind, gone with the block."""
    with ExitStack() as stack:
        if kind == "sqlite":
            yield FileStores(Path(stack.enter_context(TemporaryDirectory(prefix="stepward-partitions-"))), count)
        else:
            yield ServerStores([stack.enter_context(postgres.running()) for _ in range(count)])
