"""Preemption: which tasks wait longer when a Scheduler is full and tasks come that are before them in order."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count

from stepward.scheduler.admission.windows import BacklogKey, Key, Windows
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.store.contract import Least

AT_ONCE = 100
"""Tasks that are let go for others at one look."""
LOOKED_AT = 10_000
"""Steps that one look may pass to find them."""


def overtakers(lowest: int, crowd: Counter[Key]) -> tuple[Least, int]:
    """The lower bound of tasks that may preempt, and how many: ``crowd`` counts, by fairness key, the tasks of the
    ``lowest`` priority that wait for room.

    Tasks of a higher priority may, and tasks of a key that has less than half of its fair share of those places. It is
    half, and no more at once than the other half, so that a task that preempts is never preempted in turn for the same
    reason.
    """
    fair = crowd.total() // (len(crowd) + 1)
    if not fair:
        return Least(lowest + 1), AT_ONCE
    content = frozenset(key for key, waiting in crowd.items() if waiting > fair // 2)
    return Least(lowest, content), min(AT_ONCE, fair - fair // 2)


def overtaken(
    lowest: int, crowd: Counter[Key], windows: Windows, tasks: Mapping[str, ActiveTask]
) -> Iterator[ActiveTask]:
    """The tasks of that priority that only wait for room: of the key that has most of them, the youngest first."""
    lines = {key: windows.last_come(lowest, key) for key in crowd}
    order = count()
    heap = [(-waiting, next(order), key) for key, waiting in crowd.items()]
    heapq.heapify(heap)
    seen: set[str] = set()
    looks = iter(range(LOOKED_AT))
    while heap:
        waiting, _, key = heapq.heappop(heap)
        active = next((r for r in _unseen(lines[key], tasks, seen, looks) if r.only_waits_for_room), None)
        if active is not None:
            yield active
            heapq.heappush(heap, (waiting + 1, next(order), key))


def _unseen(
    line: Iterator[BacklogKey], tasks: Mapping[str, ActiveTask], seen: set[str], looks: Iterator[int]
) -> Iterator[ActiveTask]:
    for _, (uid, _, _) in zip(looks, line, strict=False):
        active = tasks.get(uid)
        if active is not None and uid not in seen:
            seen.add(uid)
            yield active
