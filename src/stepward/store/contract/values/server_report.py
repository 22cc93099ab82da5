"""The report of a database server on itself, for the check of a deployment."""

from __future__ import annotations

from msgspec import Struct


class ServerHost(Struct, frozen=True, kw_only=True):
    """One of the hosts in the store's address."""

    host: str
    role: str
    """``primary``, ``standby``, or ``silent`` when it did not answer."""
    timeline: int | None = None
    """The timeline of a primary, which rises with each failover."""


class Standby(Struct, frozen=True, kw_only=True):
    """A standby that is attached to the primary."""

    name: str
    state: str
    sync: str
    """``sync`` or ``quorum`` where commits wait for it, else ``async`` or ``potential``."""
    behind: int
    """Bytes of WAL that it has not flushed yet."""

    @property
    def confirms(self) -> bool:
        """Whether commits wait for it."""
        return self.state == "streaming" and self.sync in ("sync", "quorum")


class Hold(Struct, frozen=True, kw_only=True):
    """What keeps the server from removing dead rows or WAL."""

    kind: str
    """``transaction``, ``prepared`` or ``slot``."""
    name: str
    """The process, the transaction's identifier, or the slot's name."""
    by: str
    seconds: float | None
    """Seconds since it was opened; None where the user may not see it, and for slots."""
    kept: int | None = None
    """Bytes of WAL that a slot keeps."""


class Bloat(Struct, frozen=True, kw_only=True):
    """A table with more dead rows than live ones."""

    table: str
    dead: int
    live: int


class Server(Struct, frozen=True, kw_only=True):
    """A database server, as a store's user sees it."""

    version: str
    database: str
    schema: str
    user: str
    hosts: list[ServerHost]
    pooled: bool
    """Whether the connection goes through a pooler in transaction mode."""
    bounded: bool
    """Whether the server limits the time of this user's statements and idle transactions."""
    clock_ahead: float
    """Seconds by which the server's clock is ahead of this host's."""
    connections: int
    """Connections in use, of all users."""
    connections_most: int
    """Most connections for users without privileges."""
    connections_ours: int
    """Connections in use by Stepward's programs, of this user and database."""
    waiting: int
    """Commits that have been waiting for a standby for longer than a second."""
    synchronous_standby_names: str
    synchronous_commit: str
    fsync: bool
    full_page_writes: bool
    standbys: list[Standby] | None
    """The standbys; None: there are some, and the user may not see their state."""
    autovacuum: bool = True
    """Whether autovacuum is on for all of the schema's tables."""
    holds: list[Hold] = []
    bloat: list[Bloat] = []
