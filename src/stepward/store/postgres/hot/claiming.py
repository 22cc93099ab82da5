"""Claims on PostgreSQL: one statement takes tasks of one priority, and is asked again while there may be more."""

from __future__ import annotations

from stepward.model.records import PRIORITIES, History, Task
from stepward.model.tasks.complete_by import of_claim
from stepward.store import rows
from stepward.store.postgres.engine.column_arrays import columns_of
from stepward.store.rules.fairness import Turns, gone_on, passed_over
from stepward.store.rules.refusals import fenced
from stepward.store.verbs.actors.scheduler import MOST_LOOKED, WAKE_LIMIT, ClaimRequest
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.flow_control import workflow_permits
from stepward.store.verbs.tasks import status_events
from stepward.store.verbs.tasks.histories import histories

ROUND, UNSTARTED, MORE = -4, -2, -1
"""Where a claimed row says in which round it had its turn, at which place, and what else is to be known."""


async def claim(connection: VerbConnection, wanted: ClaimRequest) -> tuple[list[History], Turns]:
    """The histories are read in the same transaction: tasks whose histories cannot be read are not claimed."""
    due = max(wanted.limit, WAKE_LIMIT)
    alive = await connection.row("scheduler.open_claim", wanted.instance, wanted.now, due)
    if alive is None:
        raise fenced(wanted.instance)
    if alive[1]:
        await workflow_permits.let_go(connection, wanted.now)
    claimed: list[Task] = []
    more, looked = True, 0
    while more and len(claimed) < wanted.limit and looked < wanted.limit * MOST_LOOKED:
        left = wanted._replace(limit=wanted.limit - len(claimed))
        tasks, admitted, more = await _claim_priority(connection, left)
        wanted, looked = wanted._replace(turns=gone_on(wanted.turns, tasks)), looked + len(tasks)
        claimed.extend(admitted)
    return await histories(connection, claimed), wanted.turns


async def _claim_priority(connection: VerbConnection, wanted: ClaimRequest) -> tuple[list[Task], list[Task], bool]:
    """Up to ``limit`` tasks of one priority in the order of their turns, those of them that may go on under the limits
    of their workflows, and whether there may be more."""
    lowest = 0 if wanted.least is None else wanted.least.priority
    last = [wanted.turns.get(priority, "") for priority in PRIORITIES]
    but = list(passed_over(wanted.least, lowest))
    workflows = columns_of(wanted.workflows)
    taken_by = (wanted.limit, wanted.instance, wanted.now)
    found = await connection.rows("scheduler.claim", *workflows, *taken_by, last, lowest, but, of_claim(wanted.now))
    found.sort(key=lambda row: row[ROUND:UNSTARTED])
    tasks = [rows.task(row) for row in found]
    unstarted = {task.uid for task, row in zip(tasks, found, strict=True) if row[UNSTARTED]}
    admitted = await workflow_permits.admit(connection, tasks, wanted.now)
    for task in admitted:
        if task.uid in unstarted:
            await status_events.report_start(connection, task, wanted.now)
    # In the place of those that wait for a permit others of the same priority may be taken.
    return tasks, admitted, bool(found) and (found[0][MORE] or len(admitted) < len(tasks))
