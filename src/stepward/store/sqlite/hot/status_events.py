"""Status events on the rows: the outbox is the response queue itself, written in the commit of what it tells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stepward.model.messages.status_events import KEPT_SECONDS
from stepward.model.records import Task
from stepward.store.contract import Telling
from stepward.store.queries import load_queries
from stepward.store.sqlite.engine.connection import Connection
from stepward.store.verbs.tasks.status_events import received

Q = load_queries(__package__, "status_events.sql")


def tell_all(connection: Connection, tellings: Sequence[tuple[str, Telling]], now: float) -> bool:
    """Put what owners tell of their tasks into the queues; False if somebody else told in between."""
    counts = [(uid, telling.told, telling.told + len(telling.bodies)) for uid, telling in tellings]
    if connection.change_many(Q["count"], counts) != len(counts):
        return False
    _put(connection, ((telling.queue, body) for _, telling in tellings for body in telling.bodies), now)
    return True


def tell_received(connection: Connection, tasks: Sequence[Task]) -> None:
    """Tell that new tasks were submitted; their rows are not inserted yet and will count the event."""
    for task in tasks:
        if task.reply_to is not None:
            _put(connection, [(task.reply_to, received(task))], task.created_at)


def _put(connection: Connection, events: Iterable[tuple[str, bytes]], now: float) -> None:
    """Append events to their queues."""
    connection.change_many(Q["put"], [(queue, body, now + KEPT_SECONDS) for queue, body in events])
