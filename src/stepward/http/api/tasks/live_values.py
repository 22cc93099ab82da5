"""``/api/v1/tasks/{id}/values``, ``/streams`` and ``/stream/{name}``: what a task writes for readers outside."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from litestar import get
from litestar.datastructures import State
from litestar.params import FromQuery, HeaderParameter, PathParameter
from litestar.response import ServerSentEvent, ServerSentEventMessage
from msgspec import Struct

from stepward.errors import StepwardError
from stepward.http.access.authentication import Credentials
from stepward.http.access.permissions import Permission
from stepward.http.access.scopes.scoped_client import ScopedClient
from stepward.http.api.tasks.streams import STILL_SO, ended
from stepward.http.api.tasks.task_paths import PathId, task_id_of
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal
from stepward.http.streaming.polling import looks
from stepward.http.streaming.stream_limits import StreamSlots
from stepward.model.live_values import checked_value_name
from stepward.model.states import TASK_ENDS
from stepward.payload import displayed
from stepward.store.contract import LiveValue, StreamValue

StreamName = Annotated[str, PathParameter(description="The name of the stream.", max_length=200)]
LastPosition = Annotated[
    str | None, HeaderParameter(name="Last-Event-ID", description="The position of the last value that was received.")
]


class ValueResource(Struct, frozen=True, kw_only=True):
    """A value that the task has published."""

    name: str
    value: Any
    """Null for a principal that may not see payloads."""
    at: datetime
    """When it was committed."""


class StreamResource(Struct, frozen=True, kw_only=True):
    """A stream of the task."""

    name: str
    values: int
    """How many values it has; the next one's position."""


@get("/tasks/{task_id:str}/values", permission=Permission.READ)
async def list_values(client: RequestClient, task_id: PathId) -> list[ValueResource]:
    """List the values that the task has published, by name."""
    found = await client.live_values(task_id_of(task_id))
    shows = client.principal.payloads
    return [
        ValueResource(
            name=each.name, value=displayed(each.value) if shows else None, at=datetime.fromtimestamp(each.at, UTC)
        )
        for each in found
    ]


@get("/tasks/{task_id:str}/streams", permission=Permission.READ)
async def list_streams(client: RequestClient, task_id: PathId) -> list[StreamResource]:
    """List the task's streams by name."""
    found = await client.streams(task_id_of(task_id))
    return [StreamResource(name=name, values=count) for name, count in sorted(found.items())]


@get("/tasks/{task_id:str}/stream/{name:str}", permission=Permission.READ, media_type="text/event-stream")
async def follow_stream(
    client: RequestClient,
    state: State,
    task_id: PathId,
    name: StreamName,
    start: FromQuery[int] = 0,
    last: LastPosition = None,
) -> ServerSentEvent:
    """Follow a stream until the task ends: an event ``value`` for each value, its id the position.

    ``start`` is the first position to be sent. The data are JSON, null for a principal that may not see payloads.
    """
    id = task_id_of(task_id)
    checked_value_name(name, "stream")
    if start < 0 or (last is not None and not last.isdecimal()):
        raise HttpRefusal(422, "expected a position from 0 on", field="start" if start < 0 else "Last-Event-ID")
    await client.find(id)
    slots: StreamSlots = state.slots
    slots.check(client.principal)
    position = start if last is None else int(last) + 1
    return ServerSentEvent(_values(client, state.credentials, slots, id, name, position))


async def _values(
    client: ScopedClient, credentials: Credentials, slots: StreamSlots, id: str, name: str, position: int
) -> AsyncIterator[ServerSentEventMessage]:
    with slots.held(client.principal):
        try:
            async for _ in looks(client.hints):
                if not await credentials.is_live(client.principal):
                    return
                has_ended = (await client.find(id)).record.state in TASK_ENDS
                while page := await client.stream_values(id, name, position):
                    position = page[-1].position + 1
                    for found in page:
                        yield _message(client, found)
                if has_ended:
                    return
                yield STILL_SO
        except StepwardError as error:
            yield ended(error)


def _value(client: ScopedClient, found: LiveValue) -> ValueResource:
    shown = displayed(found.value) if client.principal.payloads else None
    return ValueResource(name=found.name, value=shown, at=datetime.fromtimestamp(found.at, UTC))


def _message(client: ScopedClient, found: StreamValue) -> ServerSentEventMessage:
    value = displayed(found.value) if client.principal.payloads else None
    data = msgspec.json.encode(value).decode()
    return ServerSentEventMessage(event="value", id=str(found.position), data=data)
