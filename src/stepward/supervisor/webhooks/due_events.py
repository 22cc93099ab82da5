"""Finds the events of a webhook's queue that are due, piece by piece: each search goes on where the last one ended."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from stepward.model.messages.webhook_retries import WaitingEvent
from stepward.store.contract import SupervisorStore
from stepward.supervisor.webhooks.outgoing_events import OutgoingEvent, outgoing, task_of

PAGE = 200
"""Events read at once."""
MOST_PAGES = 20
"""Pages of events that wait behind refused ones, and are passed over, in one search."""
MOST_WAITING = 100_000
"""Tasks that wait behind refused events, after which a sweep ends: it keeps their uids in memory."""

Lane = list[tuple[WaitingEvent, OutgoingEvent]]
"""Events of one task, in order."""


class FoundEvents(NamedTuple):
    """Events that are due."""

    lanes: Sequence[Lane]
    unreadable: Sequence[tuple[int, str]]
    """Tokens of what is no event, with the reason."""


class Sweep(NamedTuple):
    """A sweep over the queue, up to the event that was the newest one at its beginning.

    A later event of a task that has one with an uncommitted transaction then is behind that, so that it is not found
    before its predecessor.
    """

    after: int
    """The token up to which the queue is swept."""
    last: int
    waits: frozenset[str]
    """Tasks of which an event was passed over: their later ones wait too."""


class DueEvents:
    """The events of one queue that are due."""

    def __init__(self, store: SupervisorStore, queue: str) -> None:
        self._store = store
        self._queue = queue
        self._sweep: Sweep | None = None
        """Where the next search goes on; None: at the beginning of the queue."""
        self._pending: tuple[Sweep | None, Sequence[Lane]] = (None, ())

    async def find(self) -> FoundEvents:
        """The next events that are due; a sweep begins again unless ``went_on`` is called once they were offered."""
        sweep, self._sweep = self._sweep, None
        if sweep is None:
            sweep = Sweep(0, await self._store.newest_event(self._queue), frozenset())
        now = self._store.now()
        for _ in range(MOST_PAGES):
            page = await self._store.waiting_events(self._queue, sweep.after, sweep.last, PAGE) if sweep.last else []
            found, waits = _due(page, sweep.waits, now)
            is_over = len(page) < PAGE or len(waits) > MOST_WAITING
            following = None if is_over else Sweep(page[-1].token, sweep.last, waits)
            if found.lanes or found.unreadable:
                self._pending = following, found.lanes
                return found
            if following is None:
                return found
            sweep = following
        self._sweep = sweep
        return FoundEvents((), ())

    def went_on(self, taken: Collection[int]) -> None:
        """Have the next search go on behind the found events, of which those with the tokens ``taken`` are gone."""
        following, lanes = self._pending
        if following is not None:
            left = {task_of(lane[-1][1].id) for lane in lanes if lane[-1][0].token not in taken}
            self._sweep = following._replace(waits=following.waits | left)


def _due(page: Sequence[WaitingEvent], waited: frozenset[str], now: float) -> tuple[FoundEvents, frozenset[str]]:
    """The events of a page that are due, and the tasks that wait."""
    lanes: dict[str, Lane] = {}
    waits: set[str] = set()
    unreadable: list[tuple[int, str]] = []
    for event in page:
        try:
            leaving = outgoing(event.body)
        except ValueError as error:
            unreadable.append((event.token, str(error)))
            continue
        task = task_of(leaving.id)
        if task not in lanes and event.next_try > now:
            waits.add(task)
        if task not in waits and task not in waited:
            lanes.setdefault(task, []).append((event, leaving))
    return FoundEvents(list(lanes.values()), unreadable), waited | waits
