"""Status events on the rows: the outbox is the response queue itself, written in the commit of what it tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepward.model.messages.status_events import KEPT_SECONDS, Told, status_event
from stepward.model.records import Task
from stepward.store.verbs.connection import VerbConnection

Events = Sequence[tuple[str, bytes]]
"""Queues, each with what is told there."""


async def tell(connection: VerbConnection, task: Task, told: Told, now: float, /, **data: Any) -> None:
    """Tell one thing of a task that nobody else moves, if it has a private response queue; counted in its record."""
    if task.reply_to is None:
        return
    row = await connection.row("status_events.next", task.uid)
    if row is not None:
        task.events = row[0]
        await put(connection, [(task.reply_to, status_event(task, told, task.events, now, **data))], now)


def received(task: Task) -> bytes:
    """That a new task was submitted; its row is not inserted yet and will count the event."""
    task.events = 1
    return status_event(task, Told.RECEIVED, 1, task.created_at)


async def put(connection: VerbConnection, events: Events, now: float) -> None:
    """Append events to their queues."""
    if events:
        await connection.change_each("status_events.put", events, now + KEPT_SECONDS)
