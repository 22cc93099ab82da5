"""Change notifications for pages as server-sent events; a page then reloads its content."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated

from litestar import get
from litestar.datastructures import State
from litestar.params import QueryParameter
from litestar.response import ServerSentEvent, ServerSentEventMessage

from stepward.errors import StepwardError
from stepward.http.access.authentication import Credentials
from stepward.http.access.permissions import Permission
from stepward.http.access.scopes.scoped_client import ScopedClient
from stepward.http.api.tasks.etags import etag_of
from stepward.http.dependencies import RequestClient
from stepward.http.streaming.polling import looks
from stepward.http.streaming.stream_limits import StreamSlots
from stepward.http.streaming.task_feed import TaskFeed

RETRY_MILLISECONDS = 3_000
"""Milliseconds before a browser reconnects."""
POLL_SECONDS = 15.0
"""Seconds after which a page reloads without a change of a task, because load, breakers and progress change too."""

ChangeCheck = Callable[[], Awaitable[bool]]
"""Whether the content of a page has changed since the last call."""


@get("/live", permission=Permission.READ, media_type="text/event-stream")
async def live(
    client: RequestClient, state: State, task: Annotated[str | None, QueryParameter(max_length=2_000)] = None
) -> ServerSentEvent:
    """Notifies a page of changes until its credential is no longer valid; with ``task``, an id, of that task's only."""
    slots: StreamSlots = state.slots
    slots.check(client.principal)
    look = await _list_look(client) if task is None else await _task_look(client, task)
    return ServerSentEvent(_changes(client, state.credentials, slots, look))


async def _changes(
    client: ScopedClient, credentials: Credentials, slots: StreamSlots, look: ChangeCheck
) -> AsyncIterator[ServerSentEventMessage]:
    loop = asyncio.get_running_loop()
    drawn_at = loop.time()
    with slots.held(client.principal):
        try:
            yield ServerSentEventMessage(data="", event="hello", retry=RETRY_MILLISECONDS)
            async for _ in looks(client.hints):
                if not await credentials.is_live(client.principal):
                    return
                if await look() or loop.time() >= drawn_at + POLL_SECONDS:
                    drawn_at = loop.time()
                    yield ServerSentEventMessage(data="", event="changed")
                else:
                    yield ServerSentEventMessage(comment="nothing new", data=None)
        except StepwardError:
            return


async def _task_look(client: ScopedClient, id: str) -> ChangeCheck:
    shown = await _standing(client, id)

    async def look() -> bool:
        nonlocal shown
        before, shown = shown, await _standing(client, id)
        return shown != before

    return look


async def _standing(client: ScopedClient, id: str) -> tuple[object, ...]:
    """What changes with the task, with each value that it publishes, and with its streams."""
    values = [(value.name, value.at, value.value) for value in await client.live_values(id)]
    return etag_of(await client.status(id)), values, await client.streams(id)


async def _list_look(client: ScopedClient) -> ChangeCheck:
    feed = await TaskFeed.begun(client)

    async def look() -> bool:
        before, news = feed.place, await feed.look()
        acted = (before.alert, before.act) != (feed.place.alert, feed.place.act)
        return bool(news.tasks) or news.is_cut or (acted and client.principal.scope.is_everything)

    return look
