"""Cancelled connection attempts of asyncpg: their errors are retrieved, so that asyncio does not log them."""

from __future__ import annotations

from asyncpg import connect_utils

from stepward.runtime.cancelling import retrieve


class RetrievedUpgrade(connect_utils.TLSUpgradeProto):
    """asyncpg's request for TLS, without a log line where it is cancelled right after the TCP connection is made.

    asyncpg 0.32 then leaves a future with an error that no code awaits: "Future exception was never retrieved".
    """

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        retrieve(self.on_data)


def retrieve_errors() -> None:
    """Make asyncpg use ``RetrievedUpgrade``; errors that are awaited are raised as before."""
    connect_utils.TLSUpgradeProto = RetrievedUpgrade  # type: ignore[misc]
