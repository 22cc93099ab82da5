"""Status events: their queues are the outbox, written in the commit of the change that they report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepward.model.messages.event_queues import queues_for
from stepward.model.messages.status_events import KEPT_SECONDS, StatusEventType, status_event
from stepward.model.records import Task
from stepward.store.verbs.connection import VerbConnection

Events = Sequence[tuple[str, bytes]]
"""Queues, each with the body of its event."""


async def report(connection: VerbConnection, task: Task, kind: StatusEventType, now: float, /, **data: Any) -> None:
    """Appends an event of a task without an owner to the queues that get it, if there are any, and counts it."""
    queues = queues_for(task.reply_to, task.events_to, kind)
    if not queues:
        return
    row = await connection.row("status_events.next", task.uid)
    if row is not None:
        task.events = row[0]
        event = status_event(task, kind, task.events, now, **data)
        await put(connection, [(queue, event) for queue in queues], now)


async def report_start(connection: VerbConnection, task: Task, now: float) -> None:
    """Appends the event that a task was claimed first; of a child, whose parent inserted it, the one before it too."""
    if task.parent is not None and task.events == 0:
        await report(connection, task, StatusEventType.RECEIVED, task.created_at)
    await report(connection, task, StatusEventType.STARTED, now)


def received(task: Task) -> Events:
    """The event that a new task was submitted, for each queue that gets it; its row is not inserted yet and will count
    the event."""
    queues = queues_for(task.reply_to, task.events_to, StatusEventType.RECEIVED)
    if not queues:
        return ()
    task.events = 1
    event = status_event(task, StatusEventType.RECEIVED, 1, task.created_at)
    return [(queue, event) for queue in queues]


async def put(connection: VerbConnection, events: Events, now: float) -> None:
    """Appends events to their queues."""
    if events:
        await connection.change_each("status_events.put", events, now + KEPT_SECONDS)
