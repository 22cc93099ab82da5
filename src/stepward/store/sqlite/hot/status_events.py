"""Status events of a turn, put into their queues unless another process counted one since the task was
read."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.messages.status_events import KEPT_SECONDS
from stepward.store.contract import AddedEvents
from stepward.store.named_queries import load_queries
from stepward.store.rules.change_conflicts import REPORTED_BY_OTHERS, Missed
from stepward.store.sqlite.engine.connection import Connection

Q = load_queries(__package__, "status_events.sql")


def put(connection: Connection, events: Sequence[tuple[str, AddedEvents]], now: float) -> None:
    """Puts the events of tasks, by uid. Raises Missed if another process put one in between."""
    counts = [(uid, added.before, added.before + len(added.bodies)) for uid, added in events]
    if connection.change_many(Q["count"], counts) != len(counts):
        raise Missed(REPORTED_BY_OTHERS)
    expires_at = now + KEPT_SECONDS
    rows = [(queue, body, expires_at) for _, added in events for queue, body in added.rows()]
    connection.change_many(Q["put"], rows)
