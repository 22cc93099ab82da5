"""Changes of tasks for live views, read along indexes, a bounded number at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from stepward.store import rows
from stepward.store.contract import ChangedTasks, ChangesPlace
from stepward.store.verbs.connection import VerbConnection

MOST_CHANGES = 500
"""Most changes of each kind in one reading."""
LATE_SECONDS = 3.0
"""Seconds that each reading goes back, because a transaction commits later than its instant."""
LATE_NUMBERS = 50
"""Numbers that each reading goes back, because transactions commit in another order than their numbers."""


async def read(connection: VerbConnection, after: ChangesPlace | None, also: Sequence[str], now: float) -> ChangedTasks:
    """Implements ``OverviewStore.changes``."""
    ((alert, act),) = await connection.rows("overview.changes_end")
    place = ChangesPlace(now, alert, act)
    if after is None:
        return ChangedTasks(tasks=[], place=place)
    since = (after.at - LATE_SECONDS, max(0, after.alert - LATE_NUMBERS), max(0, after.act - LATE_NUMBERS))
    found = await connection.rows("overview.changes", *since, MOST_CHANGES + 1)
    counts = Counter(str(kind) for kind, _ in found)
    uids = list(dict.fromkeys([*(uid for _, uid in found), *also]))
    tasks = [rows.task(row) for row in await connection.rows("overview.changed_tasks", uids)] if uids else []
    return ChangedTasks(tasks=tasks, place=place, is_cut=any(count > MOST_CHANGES for count in counts.values()))
