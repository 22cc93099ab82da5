"""Claims on PostgreSQL: one statement takes tasks of one priority, and is asked again while there may be more."""

from __future__ import annotations

from stepward.model.messages.status_events import StatusEventType
from stepward.model.records import PRIORITIES, History, Task
from stepward.model.tasks.complete_by import of_claim
from stepward.store import rows
from stepward.store.postgres.engine.columns import columns_of
from stepward.store.rules.fairness import Turns, gone_on, passed_over
from stepward.store.rules.refusals import fenced
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.readers.scheduler import WAKE_LIMIT, ClaimRequest
from stepward.store.verbs.tasks import status_events
from stepward.store.verbs.tasks.histories import histories

ROUND, UNSTARTED, MORE = -4, -2, -1
"""Where a claimed row says in which round it had its turn, at which place, and what else is to be known."""


async def claim(connection: VerbConnection, wanted: ClaimRequest) -> tuple[list[History], Turns]:
    """The histories are read in the same transaction: tasks whose histories cannot be read are not claimed."""
    due = max(wanted.limit, WAKE_LIMIT)
    if not await connection.rows("scheduler.open_claim", wanted.instance, wanted.now, due):
        raise fenced(wanted.instance)
    claimed: list[Task] = []
    more = True
    while more and len(claimed) < wanted.limit:
        left = wanted._replace(limit=wanted.limit - len(claimed))
        tasks, more = await _claim_priority(connection, left)
        wanted = wanted._replace(turns=gone_on(wanted.turns, tasks))
        claimed.extend(tasks)
    return await histories(connection, claimed), wanted.turns


async def _claim_priority(connection: VerbConnection, wanted: ClaimRequest) -> tuple[list[Task], bool]:
    """Up to ``limit`` tasks of one priority in the order of their turns, and whether there may be more."""
    lowest = 0 if wanted.least is None else wanted.least.priority
    last = [wanted.turns.get(priority, "") for priority in PRIORITIES]
    but = list(passed_over(wanted.least, lowest))
    workflows = columns_of(wanted.workflows)
    taken_by = (wanted.limit, wanted.instance, wanted.now)
    found = await connection.rows("scheduler.claim", *workflows, *taken_by, last, lowest, but, of_claim(wanted.now))
    found.sort(key=lambda row: row[ROUND:UNSTARTED])
    tasks = [rows.task(row) for row in found]
    for task, row in zip(tasks, found, strict=True):
        if row[UNSTARTED]:
            await status_events.report(connection, task, StatusEventType.STARTED, wanted.now)
    return tasks, bool(found) and found[0][MORE]
