"""``/metrics``: the store's gauges for Prometheus, read at most once a second."""

from __future__ import annotations

import asyncio

from litestar import Response, get
from litestar.datastructures import State

from stepward.client import Client, session_of
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient
from stepward.telemetry.store_metrics import CONTENT_TYPE, exposition

FRESH_SECONDS = 1.0
"""Seconds for which an answer is reused."""


class Scrapes:
    """Keeps the last answer, which scrapes within a second share."""

    def __init__(self) -> None:
        self._reading = asyncio.Lock()
        self._answer = b""
        self._read_at = float("-inf")

    async def answer(self, client: Client) -> bytes:
        """The store's metrics as text. Raises StoreUnavailable."""
        async with self._reading:
            now = asyncio.get_running_loop().time()
            if now - self._read_at >= FRESH_SECONDS:
                self._answer = exposition(await session_of(client).store.operators.gauges())
                self._read_at = now
            return self._answer


@get("/metrics", permission=Permission.READ_ALL, include_in_schema=False)
async def metrics(client: RequestClient, state: State) -> Response[bytes]:
    """The store's metrics in Prometheus' text format."""
    scrapes: Scrapes = state.scrapes
    return Response(await scrapes.answer(client.unscoped), headers={"content-type": CONTENT_TYPE})
