"""``/api/v1/tasks/{id}/events`` and ``/api/v1/events``: the status of tasks, as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from litestar import get
from litestar.datastructures import State
from litestar.params import HeaderParameter
from litestar.response import ServerSentEvent, ServerSentEventMessage

from stepward.client import TaskStatus
from stepward.errors import StepwardError
from stepward.http.access.authentication import Credentials
from stepward.http.access.permissions import Permission
from stepward.http.access.scopes.scoped_client import ScopedClient
from stepward.http.api.resources import TaskResource, resource
from stepward.http.api.tasks.etags import etag_of
from stepward.http.api.tasks.task_paths import PathId, task_id_of
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal
from stepward.http.streaming.polling import looks
from stepward.http.streaming.stream_limits import StreamSlots
from stepward.http.streaming.task_feed import PLACE, TaskFeed, place_id, place_of
from stepward.model.states import TASK_ENDS
from stepward.store.contract import ChangesPlace

STILL_SO = ServerSentEventMessage(comment="still so", data=None)
GAP = "more tasks changed at once than a stream sends: list the tasks"
LastEventId = Annotated[
    str | None, HeaderParameter(name="Last-Event-ID", description="The id of the last event that was received.")
]


@get("/tasks/{task_id:str}/events", permission=Permission.READ, media_type="text/event-stream")
async def follow_task(
    client: RequestClient, state: State, task_id: PathId, last: LastEventId = None
) -> ServerSentEvent:
    """Follow a task until it ends: an event ``status`` with each change; its id is the task's ETag."""
    id = task_id_of(task_id)
    await client.find(id)
    slots: StreamSlots = state.slots
    slots.check(client.principal)
    return ServerSentEvent(_of_task(client, state.credentials, slots, id, last))


@get("/events", permission=Permission.READ, media_type="text/event-stream")
async def follow_tasks(client: RequestClient, state: State, last: LastEventId = None) -> ServerSentEvent:
    """Follow all tasks of the principal's scope: an event ``status`` for each change.

    A task is sent when it is submitted, ends, fails or is acted upon, and each change of the 200 tasks sent last. An
    event ``gap`` stands for changes that are left out. After a reconnection an event may come twice.
    """
    place = None if last is None else place_of(last)
    if last is not None and place is None:
        raise HttpRefusal(422, f"expected an event's id as {PLACE.pattern}, found {last[:60]!r}", field="Last-Event-ID")
    slots: StreamSlots = state.slots
    slots.check(client.principal)
    return ServerSentEvent(_of_tasks(client, state.credentials, slots, place))


async def _of_task(
    client: ScopedClient, credentials: Credentials, slots: StreamSlots, id: str, last: str | None
) -> AsyncIterator[ServerSentEventMessage]:
    with slots.held(client.principal):
        try:
            async for _ in looks(client.hints):
                if not await credentials.is_live(client.principal):
                    return
                status = await client.status(id)
                etag = etag_of(status)
                yield STILL_SO if etag == last else _status_message(status, etag)
                last = etag
                if status.state in TASK_ENDS:
                    return
        except StepwardError as error:
            yield ended(error)


async def _of_tasks(
    client: ScopedClient, credentials: Credentials, slots: StreamSlots, place: ChangesPlace | None
) -> AsyncIterator[ServerSentEventMessage]:
    with slots.held(client.principal):
        try:
            feed = await TaskFeed.begun(client, place)
            async for _ in looks(client.hints):
                if not await credentials.is_live(client.principal):
                    return
                # Events carry the place before their look, so that a reconnection between two of them loses none.
                before, news = place_id(feed.place), await feed.look()
                for status in await client.statuses(news.tasks):
                    yield _status_message(status, before)
                event, data = ("gap", GAP) if news.is_cut else (None, None)
                yield ServerSentEventMessage(event=event, id=place_id(feed.place), data=data)
        except StepwardError as error:
            yield ended(error)


def _status_message(status: TaskStatus, id: str) -> ServerSentEventMessage:
    data = msgspec.json.encode(resource(TaskResource, status)).decode()
    return ServerSentEventMessage(event="status", id=id, data=data)


def ended(error: StepwardError) -> ServerSentEventMessage:
    """The last event of a stream that cannot go on."""
    return ServerSentEventMessage(event="ended", data=str(error))
