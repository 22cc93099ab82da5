"""``/livez`` and ``/readyz`` for monitors: they need no sign-in and show nothing of the store."""

from __future__ import annotations

import asyncio

from litestar import Response, get
from litestar.datastructures import State

from stepward.client import session_of
from stepward.errors import StepwardError
from stepward.http.access.permissions import Permission
from stepward.http.shared_client import ClientSource

READY_SECONDS = 2.0
"""Seconds within which the store must answer."""
FRESH_SECONDS = 1.0
"""Seconds for which an answer is kept: the store is asked once in them, however often monitors or strangers ask."""
NO_CREDENTIAL = ""
"""An id that no credential has, looked up to check that the store answers."""


class StoreChecks:
    """Keeps whether the store answered, which calls within a second share."""

    def __init__(self) -> None:
        self._asking = asyncio.Lock()
        self._answered = False
        self._asked_at = float("-inf")

    async def answered(self, source: ClientSource) -> bool:
        """Whether the store answers within ``READY_SECONDS``."""
        async with self._asking:
            now = asyncio.get_running_loop().time
            if now() - self._asked_at >= FRESH_SECONDS:
                self._answered = await _answers(source)
                self._asked_at = now()
            return self._answered


async def _answers(source: ClientSource) -> bool:
    try:
        async with asyncio.timeout(READY_SECONDS):
            client = await source.client()
            await session_of(client).store.operators.credential(NO_CREDENTIAL)
    except (StepwardError, TimeoutError):
        return False
    return True


@get("/livez", permission=Permission.PUBLIC, include_in_schema=False, media_type="text/plain")
async def livez() -> str:
    """The process answers."""
    return "live"


@get("/readyz", permission=Permission.PUBLIC, include_in_schema=False, media_type="text/plain")
async def readyz(state: State) -> Response[str]:
    """The store answers too; 503 where it does not."""
    checks: StoreChecks = state.checks
    if not await checks.answered(state.source):
        return Response("the store does not answer", status_code=503, media_type="text/plain")
    return Response("ready", media_type="text/plain")
