"""Rows whose state is unknown since the answer to a commit was lost."""

from __future__ import annotations

from stepward.errors import StoreUnavailable
from stepward.store.postgres.engine.connection import Connection


class UnconfirmedCommits:
    """Whether commits of this store object may hang at the server for want of a standby.

    Each that hangs keeps a connection of the server's: no more are begun before those are through.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._hangs = False

    def commit_lost(self) -> None:
        """No answer came to a commit."""
        self._hangs = True

    async def settle(self, connection: Connection) -> None:
        """Before another commit: raises StoreUnavailable while the server has some that wait for a standby.

        Its standby may have taken over: the connection is dropped, and the next one asks the hosts again.
        """
        if not self._hangs:
            return
        ((waiting, long),) = await connection.rows("replication.waiting")
        if long:
            connection.raw.terminate()
            raise StoreUnavailable(
                f"store {self._place}: expected a standby to confirm commits, found {long} waiting for it; bring "
                "the standby back, or take it out of synchronous_standby_names"
            )
        self._hangs = waiting > 0
