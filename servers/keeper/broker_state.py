"""How a broker stands: which of its servers run."""

from __future__ import annotations

import msgspec


class BrokerServer(msgspec.Struct, frozen=True):
    """One that runs; `pid` is of the process that all its others descend from."""

    name: str
    port: int
    pid: int

    def __str__(self) -> str:
        return f"{self.name} at 127.0.0.1:{self.port} (pid {self.pid})"


class BrokerStanding(msgspec.Struct, frozen=True):
    """The servers of one broker that run, of as many as there are to be."""

    title: str
    servers: tuple[BrokerServer, ...]
    size: int
