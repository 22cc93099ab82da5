"""What the database server behind a store says of itself, for the check of a deployment."""

from __future__ import annotations

from msgspec import Struct


class ServerHost(Struct, frozen=True, kw_only=True):
    """One of the hosts that the address names."""

    host: str
    role: str
    """``primary``, ``standby``, or ``silent`` when it did not answer."""
    timeline: int | None = None
    """Of a primary: it rises with each failover."""


class Standby(Struct, frozen=True, kw_only=True):
    """A standby that is attached to the primary."""

    name: str
    state: str
    sync: str
    """``sync`` or ``quorum`` where commits wait for it, else ``async`` or ``potential``."""
    behind: int
    """Bytes that it has not kept yet."""

    @property
    def confirms(self) -> bool:
        """Whether commits wait for it."""
        return self.state == "streaming" and self.sync in ("sync", "quorum")


class Hold(Struct, frozen=True, kw_only=True):
    """What keeps the server from removing deleted rows, or its log."""

    kind: str
    """``transaction``, ``prepared`` or ``slot``."""
    name: str
    """The process, the transaction's identifier, or the slot's name."""
    by: str
    seconds: float | None
    """For how long it is open; None where that is not to be seen, and of slots."""
    kept: int | None = None
    """Bytes of the log that a slot keeps."""


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
    """Whether a pooler in transaction mode stands between."""
    bounded: bool
    """Whether the server bounds statements, and rests within transactions, of this user."""
    clock_ahead: float
    """Seconds by which the server's clock is ahead of this host's."""
    connections: int
    """In use, of all users."""
    connections_most: int
    """That are for users without privileges."""
    connections_ours: int
    """In use by programs like this one, of this user and database."""
    waiting: int
    """Commits that have been waiting for a standby for longer than a second."""
    synchronous_standby_names: str
    synchronous_commit: str
    fsync: bool
    full_page_writes: bool
    standbys: list[Standby] | None
    """None: there are some, and the user may not see how they are."""
    autovacuum: bool = True
    """Whether dead rows of all the schema's tables are removed by themselves."""
    holds: list[Hold] = []
    bloat: list[Bloat] = []
