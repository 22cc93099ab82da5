"""The client that all requests of an application share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stepward.client import Client, session_of
from stepward.store.partitions.single_or_partitioned import missing_in


class ClientSource:
    """Opens a client with the first request, because a mounted application does not learn when its server starts."""

    def __init__(self, make: Callable[[], Client]) -> None:
        self._make = make
        self._client: Client | None = None
        self._opening = asyncio.Lock()

    async def client(self) -> Client:
        """The open client. Raises StoreUnavailable or StoreUnusable."""
        async with self._opening:
            if self._client is None:
                client = self._make()
                await client.__aenter__()
                self._client = client
            return self._client

    def missing_partitions(self) -> list[str]:
        """The partitions whose stores did not answer when they were asked last."""
        return [] if self._client is None else list(missing_in(session_of(self._client).store))

    async def close(self) -> None:
        """Closes the client, if it was opened."""
        client, self._client = self._client, None
        if client is not None:
            await client.__aexit__(None, None, None)
