"""The driver's own connection, lent for the length of one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from stepward.store.postgres.engine.connecting.session_reset import Use
from stepward.store.postgres.engine.connection import Connection

KEPT_BY_THE_DRIVER = frozenset(
    {
        "add_listener",
        "add_log_listener",
        "add_query_logger",
        "add_termination_listener",
        "reset",
        "set_builtin_type_codec",
        "set_type_codec",
    }
)
"""Methods of the driver's connection that change what it keeps for later statements on its own side."""


class ProxyHolder:
    """A connection that is lent as asyncpg's pools lend theirs: taken back, it and what it made can do nothing more."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._proxy: Any = None

    @property
    def connection(self) -> asyncpg.Connection[asyncpg.Record]:
        """The connection as it is lent."""
        if self._proxy is None:
            self._connection.use = max(self._connection.use, Use.CONNECTION)
            self._proxy = cast("Any", ConnectionProxy)(self._connection)
        return cast("asyncpg.Connection[asyncpg.Record]", self._proxy)

    def take_back(self) -> None:
        """From now on every use raises ``asyncpg.InterfaceError``."""
        if self._proxy is not None:
            self._proxy._detach()
            raw: Any = self._connection.raw
            # What cursors and prepared statements of the caller compare.
            raw._pool_release_ctr += 1


class ConnectionProxy(cast("Any", PoolConnectionProxy)):  # type: ignore[misc]  # its stubs hide the arguments
    """The connection that an application is lent; it records uses that no statement reverts."""

    __slots__ = ("_stepwards",)

    def __init__(self, connection: Connection) -> None:
        self._stepwards = connection
        super().__init__(None, connection.raw)

    def __getattribute__(self, name: str) -> Any:
        if name in KEPT_BY_THE_DRIVER:
            self._stepwards.use = Use.DRIVER
        return super().__getattribute__(name)


@contextmanager
def proxied(connection: Connection) -> Iterator[ProxyHolder]:
    """Lend it until the block ends."""
    lent = ProxyHolder(connection)
    try:
        yield lent
    finally:
        lent.take_back()
