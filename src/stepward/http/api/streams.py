"""``/api/v1/tasks/{id}/events``: the status of a task after each change, as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from litestar import get
from litestar.datastructures import State
from litestar.params import HeaderParameter
from litestar.response import ServerSentEvent, ServerSentEventMessage

from stepward.errors import StepwardError
from stepward.http.access.authentication import Credentials
from stepward.http.access.permissions import Permission
from stepward.http.access.scoped_client import ScopedClient
from stepward.http.api.etags import etag_of
from stepward.http.api.resources import TaskResource, resource
from stepward.http.api.task_paths import PathId, task_id_of
from stepward.http.dependencies import RequestClient
from stepward.http.problems import HttpRefusal
from stepward.model.states import TASK_ENDS

LOOK_SECONDS = 1.0
"""Seconds between two checks of a stream for a change, and of its credential."""
MOST_STREAMS = 200
"""Most concurrent streams of one process."""
STREAM_SECONDS = 3600.0
"""Seconds after which a stream ends and the client reconnects."""


class Streams:
    """Counts the streams of a process."""

    def __init__(self) -> None:
        self.open = 0


@get("/tasks/{task_id:str}/events", permission=Permission.READ, media_type="text/event-stream")
async def follow_task(
    client: RequestClient,
    state: State,
    task_id: PathId,
    last: Annotated[str | None, HeaderParameter(name="Last-Event-ID")] = None,
) -> ServerSentEvent:
    """Follow a task until it ends: an event ``status`` with each change; its id is the task's ETag."""
    id = task_id_of(task_id)
    await client.find(id)
    streams: Streams = state.streams
    if streams.open >= MOST_STREAMS:
        raise HttpRefusal(503, f"streams: expected at most {MOST_STREAMS}, found as many", headers={"Retry-After": "5"})
    return ServerSentEvent(_followed(client, state.credentials, streams, id, last))


async def _followed(
    client: ScopedClient, credentials: Credentials, streams: Streams, id: str, last: str | None
) -> AsyncIterator[ServerSentEventMessage]:
    streams.open += 1
    try:
        ends_at = asyncio.get_running_loop().time() + STREAM_SECONDS
        while asyncio.get_running_loop().time() < ends_at and await credentials.is_live(client.principal):
            status = await client.status(id)
            etag = etag_of(status)
            if etag != last:
                last = etag
                data = msgspec.json.encode(resource(TaskResource, status)).decode()
                yield ServerSentEventMessage(event="status", id=etag, data=data)
            else:
                yield ServerSentEventMessage(comment="still so", data=None)
            if status.state in TASK_ENDS:
                return
            await asyncio.sleep(LOOK_SECONDS)
    except StepwardError as error:
        yield ServerSentEventMessage(event="ended", data=str(error))
    finally:
        streams.open -= 1
