"""The feed of one stream: tasks in scope whose state differs from the one sent last."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import TypeVar

from msgspec import Struct

from stepward.http.access.scopes.scoped_client import ScopedClient
from stepward.model.records import Task
from stepward.model.states import TASK_ENDS
from stepward.store.contract import ChangesPlace

T = TypeVar("T")

MOST_SENT = 5_000
"""Most tasks whose last sent state a stream keeps; an older one may be sent twice."""
MOST_WATCHED = 200
"""Most live tasks, those sent last, that each look reads again, so that all their states are sent."""
PLACE = re.compile(r"(\d{1,12}\.\d{3})-(\d{1,18})-(\d{1,18})")


class FeedNews(Struct, frozen=True):
    """The result of a look."""

    tasks: list[Task]
    """Tasks that have changed since they were sent last, without their payloads."""
    is_cut: bool
    """Whether more tasks have changed than one look returns."""


class TaskFeed:
    """Reads the changes for one stream."""

    def __init__(self, client: ScopedClient, place: ChangesPlace) -> None:
        self._client = client
        self.place = place
        """The place up to which changes were read."""
        self._sent: OrderedDict[str, tuple[object, ...]] = OrderedDict()
        self._watched: OrderedDict[str, None] = OrderedDict()

    @classmethod
    async def begun(cls, client: ScopedClient, place: ChangesPlace | None = None) -> TaskFeed:
        """Begins a feed at a place, or now."""
        return cls(client, place or (await client.changes(None)).place)

    async def look(self) -> FeedNews:
        """Reads what has changed since the last look."""
        changed = await self._client.changes(self.place, list(self._watched))
        self.place = changed.place
        return FeedNews([task for task in changed.tasks if self._is_new(task)], changed.is_cut)

    def _is_new(self, task: Task) -> bool:
        standing = (task.run, task.state, task.failure_count, task.waits_for, task.finished_at, task.deadline)
        if self._sent.get(task.uid) == standing:
            return False
        _remember(self._sent, task.uid, standing, MOST_SENT)
        if task.state in TASK_ENDS:
            self._watched.pop(task.uid, None)
        else:
            _remember(self._watched, task.uid, None, MOST_WATCHED)
        return True


def place_id(place: ChangesPlace) -> str:
    """The place as the id of an event."""
    return f"{place.at:.3f}-{place.alert}-{place.act}"


def place_of(id: str) -> ChangesPlace | None:
    """The place of an event's id; None for another text."""
    found = PLACE.fullmatch(id)
    return None if found is None else ChangesPlace(float(found[1]), int(found[2]), int(found[3]))


def _remember(kept: OrderedDict[str, T], uid: str, value: T, most: int) -> None:
    kept[uid] = value
    kept.move_to_end(uid)
    if len(kept) > most:
        kept.popitem(last=False)
