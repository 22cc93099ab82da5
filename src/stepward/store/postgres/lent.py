"""The driver's own connection, lent for the length of one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import asyncpg
from asyncpg.pool import PoolConnectionProxy


class Lending:
    """A connection that is lent as asyncpg's pools lend theirs: taken back, it and what it made can do nothing more."""

    def __init__(self, raw: asyncpg.Connection[asyncpg.Record]) -> None:
        self._raw = raw
        self._proxy: Any = None

    @property
    def connection(self) -> asyncpg.Connection[asyncpg.Record]:
        """The connection as it is lent."""
        if self._proxy is None:
            self._proxy = cast("Any", PoolConnectionProxy)(None, self._raw)
        return cast("asyncpg.Connection[asyncpg.Record]", self._proxy)

    def take_back(self) -> None:
        """From now on every use raises ``asyncpg.InterfaceError``."""
        if self._proxy is not None:
            self._proxy._detach()
            raw: Any = self._raw
            # What cursors and prepared statements of the caller compare.
            raw._pool_release_ctr += 1


@contextmanager
def lending(raw: asyncpg.Connection[asyncpg.Record]) -> Iterator[Lending]:
    """Lend it until the block ends."""
    lent = Lending(raw)
    try:
        yield lent
    finally:
        lent.take_back()
