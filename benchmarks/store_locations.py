"""Where the stores of a measure stand."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Protocol

from benchmarks.cpu import family_seconds
from servers.postgres import Server

NUMBERS = count(1)
"""Names that distinguish the databases of a server."""


class Place(Protocol):
    """Where a measure makes its stores."""

    folder: Path

    async def fresh(self) -> str:
        """The address of a store that does not exist yet."""
        ...

    def server_seconds(self) -> float:
        """The CPU that a server has used for all of them so far."""
        ...


class SqlitePlace:
    """Files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._made = 0

    async def fresh(self) -> str:
        """Implements ``Place.fresh``."""
        self._made += 1
        return f"sqlite:///{self.folder}/bench-{self._made}.db"

    def server_seconds(self) -> float:
        """There is none."""
        return 0.0


class PostgresBench:
    """Databases of a server."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.folder = folder
        self.server = server

    async def fresh(self) -> str:
        """Implements ``Place.fresh``."""
        name = f"bench_{next(NUMBERS)}"
        await self.server.execute(f"create database {name}")
        return self.server.address(name)

    def server_seconds(self) -> float:
        """Implements ``Place.server_seconds``."""
        return family_seconds(self.server.pid)
