"""Change notifications of the store as server-sent events; a page then reloads its content."""

from __future__ import annotations

from collections.abc import AsyncIterator

from litestar import get
from litestar.datastructures import State
from litestar.response import ServerSentEvent, ServerSentEventMessage

from stepward.console.change_notifications import news
from stepward.errors import StepwardError
from stepward.http.access.authentication import Credentials
from stepward.http.access.permissions import Permission
from stepward.http.access.scoped_client import ScopedClient
from stepward.http.api.streams import MOST_STREAMS, Streams
from stepward.http.dependencies import RequestClient
from stepward.http.problems import HttpRefusal

RETRY_MILLISECONDS = 3_000
"""Milliseconds before a browser reconnects."""


@get("/live", permission=Permission.READ, media_type="text/event-stream")
async def live(client: RequestClient, state: State) -> ServerSentEvent:
    """Notifies a page of changes until its credential is no longer valid."""
    streams: Streams = state.streams
    if streams.open >= MOST_STREAMS:
        raise HttpRefusal(503, f"streams: expected at most {MOST_STREAMS}, found as many", headers={"Retry-After": "5"})
    return ServerSentEvent(_news(client, state.credentials, streams))


async def _news(
    client: ScopedClient, credentials: Credentials, streams: Streams
) -> AsyncIterator[ServerSentEventMessage]:
    streams.open += 1
    try:
        yield ServerSentEventMessage(data="", event="hello", retry=RETRY_MILLISECONDS)
        async for is_new in news(client.hints, is_complete=client.owns_store):
            if not await credentials.is_live(client.principal):
                return
            if is_new:
                yield ServerSentEventMessage(data="", event="changed")
            else:
                yield ServerSentEventMessage(comment="nothing new", data=None)
    except StepwardError:
        return
    finally:
        streams.open -= 1
