"""The queues that a task's status events go to: its private response queue, and those of webhooks.

A task's row names its webhooks in ``events_to``, from its insertion on, so that every process that records one of its
events finds them without settings: ``webhooks.APP.NAME``, or ``webhooks.APP.NAME:CODES`` for some kinds of events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from stepward.model.messages.status_events import StatusEventType

PREFIX = "webhooks."
CODES: Mapping[StatusEventType, str] = {
    StatusEventType.RECEIVED: "a",
    StatusEventType.STARTED: "b",
    StatusEventType.STEP_COMPLETED: "c",
    StatusEventType.STEP_FAILED: "d",
    StatusEventType.STEP_DELAYED: "e",
    StatusEventType.WAITING: "f",
    StatusEventType.SUSPENDED: "g",
    StatusEventType.RESUMED: "h",
    StatusEventType.UNDOING: "i",
    StatusEventType.COMPLETED: "j",
    StatusEventType.FAILED: "k",
    StatusEventType.UNDONE: "l",
    StatusEventType.CANCELLED: "m",
}
"""By kind, its letter in the rows of tasks, which never changes. A refused message has no task, so it has none."""
KNOWN_ROUTES = 1_000
"""Combinations of queues and kinds that are kept in memory."""


def webhook_queue(app: str, name: str) -> str:
    """The queue of a webhook."""
    return f"{PREFIX}{app}.{name}"


def webhook_route(app: str, name: str, kinds: Iterable[StatusEventType] | None) -> str:
    """One entry of ``events_to``; ``kinds`` None: all."""
    queue = webhook_queue(app, name)
    return queue if kinds is None else f"{queue}:{''.join(sorted(CODES[kind] for kind in kinds))}"


@lru_cache(KNOWN_ROUTES)
def queues_for(reply_to: str | None, events_to: str | None, kind: StatusEventType) -> tuple[str, ...]:
    """The queues that get an event of this kind; none: it is not recorded."""
    own = () if reply_to is None else (reply_to,)
    routes = (route.partition(":") for route in (events_to or "").split())
    return (*own, *(queue for queue, _, codes in routes if not codes or CODES[kind] in codes))


def queues_of(reply_to: str | None, events_to: str | None) -> tuple[str, ...]:
    """All queues that may hold events of a task."""
    own = () if reply_to is None else (reply_to,)
    return (*own, *(route.partition(":")[0] for route in (events_to or "").split()))
