"""How a pair of servers stands: who is the primary, and whether it has a standby."""

from __future__ import annotations

import msgspec

DATABASE = "orders"
"""The shop's own, in which Stepward has a schema of its own."""


class ClusterMember(msgspec.Struct, frozen=True):
    """One server that runs; `pid` is of the process that all its others descend from."""

    port: int
    pid: int

    def __str__(self) -> str:
        return f"127.0.0.1:{self.port} (pid {self.pid})"


class Standing(msgspec.Struct, frozen=True):
    """The primary, and the standby without which it commits nothing; None while another is made."""

    primary: ClusterMember
    standby: ClusterMember | None = None
