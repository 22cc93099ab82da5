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

NEVER = float("inf")

Lane = list[tuple[WaitingEvent, OutgoingEvent]]
"""Events of one task, in order."""


class FoundEvents(NamedTuple):
    """Events that are due."""

    lanes: Sequence[Lane]
    unreadable: Sequence[tuple[int, str]]
    """Tokens of what is no event, with the reason."""


class Sweep(NamedTuple):
    """A sweep over the queue, up to the event that was the newest one at its beginning.

    An event whose transaction commits late is passed over; the next one of its task is behind that newest one, so that
    the sweep does not find it either.
    """

    after: int
    """The token up to which the queue is swept."""
    last: int
    waits: frozenset[str] = frozenset()
    """Tasks of which an event was passed over: their later ones wait too."""
    due_at: float = NEVER
    """When the first of the events that were passed over is due."""


class DueEvents:
    """The events of one queue that are due.

    Once events that were passed over are due, every other search begins at the oldest event, and the sweep goes on
    after it: neither many refused events nor many new ones hold up the others.
    """

    def __init__(self, store: SupervisorStore, queue: str) -> None:
        self._store = store
        self._queue = queue
        self._sweep: Sweep | None = None
        """Where the next search goes on; None: at the beginning of the queue."""
        self._is_aside = False
        """Whether the last search began at the oldest event while a sweep was under way."""
        self._pending: tuple[Sweep | None, Sequence[Lane]] = (None, ())

    async def find(self) -> FoundEvents:
        """The next events that are due; a sweep begins again unless ``went_on`` is called once they were offered."""
        sweep, self._sweep, now = self._sweep, None, self._store.now()
        self._is_aside = not self._is_aside and sweep is not None and sweep.due_at <= now
        begin = sweep
        if begin is None or self._is_aside:
            begin = Sweep(0, await self._store.newest_event(self._queue))
        found, reached = await self._search(begin, now)
        if sweep is not None and reached is not None and self._is_aside:
            reached = sweep._replace(due_at=now if found.lanes else reached.due_at)
        if found.lanes or found.unreadable:
            self._pending = reached, found.lanes
        else:
            self._sweep = reached
        return found

    def went_on(self, taken: Collection[int]) -> None:
        """Have the next search go on behind the found events, of which those with the tokens ``taken`` are gone."""
        following, lanes = self._pending
        left = {task_of(lane[-1][1].id) for lane in lanes if lane[-1][0].token not in taken}
        if following is not None and left:
            following = following._replace(waits=following.waits | left, due_at=self._store.now())
        self._sweep = following

    async def _search(self, sweep: Sweep, now: float) -> tuple[FoundEvents, Sweep | None]:
        """The first page with an event that is due, and the sweep up to there; None at its end."""
        for _ in range(MOST_PAGES):
            page = await self._store.waiting_events(self._queue, sweep.after, sweep.last, PAGE) if sweep.last else []
            found, waiting = _due(page, sweep.waits, now)
            waits, due_at = sweep.waits.union(waiting), min([sweep.due_at, *waiting.values()])
            if len(page) < PAGE or len(waits) > MOST_WAITING:
                return found, None
            sweep = Sweep(page[-1].token, sweep.last, waits, due_at)
            if found.lanes or found.unreadable:
                return found, sweep
        return FoundEvents((), ()), sweep


def _due(page: Sequence[WaitingEvent], waits: frozenset[str], now: float) -> tuple[FoundEvents, dict[str, float]]:
    """The events of a page that are due, and the tasks that wait, each with the next try of its refused event."""
    lanes: dict[str, Lane] = {}
    waiting: dict[str, float] = {}
    unreadable: list[tuple[int, str]] = []
    for event in page:
        try:
            leaving = outgoing(event.body)
        except ValueError as error:
            unreadable.append((event.token, str(error)))
            continue
        task = task_of(leaving.id)
        if task not in lanes and task not in waits and event.next_try > now:
            waiting.setdefault(task, event.next_try)
        if task not in waiting and task not in waits:
            lanes.setdefault(task, []).append((event, leaving))
    return FoundEvents(list(lanes.values()), unreadable), waiting
