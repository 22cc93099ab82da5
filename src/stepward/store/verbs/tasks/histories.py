"""Histories of tasks: the rows from which a Scheduler loads a task into memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from stepward.model.records import History, InboxRow, Step, Task
from stepward.model.states import TaskState
from stepward.store import rows
from stepward.store.verbs.connection import VerbConnection


async def load(connection: VerbConnection, instance: str, uids: Sequence[str]) -> list[History]:
    """Histories of those of the tasks that the instance holds."""
    found = [rows.task(row) for row in await connection.rows("scheduler.tasks", list(uids))]
    return await histories(connection, [task for task in found if task.locked_by == instance])


async def histories(connection: VerbConnection, tasks: Sequence[Task]) -> list[History]:
    """Rows of the tasks: of the current run, or of every run of a task that is being undone.

    Inbox rows are read before steps, and both after the task: a reader that sees the inbox row of a change then sees
    the change too, and later rows are read the next time.
    """
    inbox: defaultdict[str, list[InboxRow]] = defaultdict(list)
    steps: defaultdict[str, list[Step]] = defaultdict(list)
    if counted := [task.uid for task in tasks if task.inbox]:
        for row in await connection.rows("scheduler.inbox", counted):
            inbox[row[1]].append(rows.inbox_row(row))
    wanted = [(task.uid, 1 if task.state is TaskState.UNDOING else task.run, task.run) for task in tasks]
    for row in await connection.rows_of_each("scheduler.steps", wanted):
        steps[row[0]].append(rows.step(row))
    for found in steps.values():
        found.sort(key=lambda step: (step.run, step.number))
    return [History(task, steps.get(task.uid, []), inbox.get(task.uid, [])) for task in tasks]
