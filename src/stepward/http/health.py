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
NOBODY = ""
"""A task id that no task has, looked up to check that the store answers."""


@get("/livez", permission=Permission.PUBLIC, include_in_schema=False, media_type="text/plain")
async def livez() -> str:
    """The process answers."""
    return "live"


@get("/readyz", permission=Permission.PUBLIC, include_in_schema=False, media_type="text/plain")
async def readyz(state: State) -> Response[str]:
    """The store answers too; 503 where it does not."""
    source: ClientSource = state.source
    try:
        async with asyncio.timeout(READY_SECONDS):
            client = await source.client()
            await session_of(client).store.operators.credential(NOBODY)
    except (StepwardError, TimeoutError):
        return Response("the store does not answer", status_code=503, media_type="text/plain")
    return Response("ready", media_type="text/plain")
