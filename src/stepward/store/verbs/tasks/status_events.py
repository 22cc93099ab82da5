"""Status events: the response queue itself is the outbox, written in the commit of the change that they report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepward.model.messages.status_events import KEPT_SECONDS, StatusEventType, status_event
from stepward.model.records import Task
from stepward.store.verbs.connection import VerbConnection

Events = Sequence[tuple[str, bytes]]
"""Queues, each with the body of its event."""


async def report(connection: VerbConnection, task: Task, kind: StatusEventType, now: float, /, **data: Any) -> None:
    """Appends an event of a task without an owner to its private response queue, if it has one, and counts it."""
    if task.reply_to is None:
        return
    row = await connection.row("status_events.next", task.uid)
    if row is not None:
        task.events = row[0]
        await put(connection, [(task.reply_to, status_event(task, kind, task.events, now, **data))], now)


def received(task: Task) -> bytes:
    """The event that a new task was submitted; its row is not inserted yet and will count the event."""
    task.events = 1
    return status_event(task, StatusEventType.RECEIVED, 1, task.created_at)


async def put(connection: VerbConnection, events: Events, now: float) -> None:
    """Appends events to their queues."""
    if events:
        await connection.change_each("status_events.put", events, now + KEPT_SECONDS)
