"""Sources of recorded histories: the store, page after page, or an archive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

from stepward.client import Client, session_of
from stepward.errors import TaskNotFound
from stepward.model.records import History, Step, Task
from stepward.model.states import TaskState
from stepward.payload.sealed import PayloadCodec
from stepward.store.large_payloads.histories import fetch_history
from stepward.store.sealing.archived_histories import opened_history
from stepward.supervisor.archives.task_reader import archived_tasks

TaskHistory = tuple[Task, list[Step]]

PAGE = 500
AT_ONCE = 16
NEVER_AGAIN = frozenset({TaskState.UNDOING, TaskState.UNDONE, TaskState.CANCELLED})
"""No code runs for such a task again: undo follows its record."""


async def stored(client: Client, where: str | None, workflow: str | None) -> AsyncIterator[TaskHistory]:
    """The histories of tasks in the store whose code may run again, newest first. Raises InvalidFilter."""
    cursor = None
    while True:
        page = await client.tasks(workflow=workflow, limit=PAGE, where=where, cursor=cursor)
        wanted = [task.id for task in page if task.state not in NEVER_AGAIN]
        async for found in histories_of(client, wanted):
            yield found
        if (cursor := page.cursor) is None:
            return


async def histories_of(client: Client, ids: Sequence[str]) -> AsyncIterator[TaskHistory]:
    """The histories of these tasks, but for those that are deleted meanwhile."""
    for start in range(0, len(ids), AT_ONCE):
        for found in await asyncio.gather(*(_stored(client, id) for id in ids[start : start + AT_ONCE])):
            if found is not None:
                yield found


async def _stored(client: Client, id: str) -> TaskHistory | None:
    """None for a task that was deleted meanwhile."""
    session = session_of(client)
    try:
        # The task first: steps of a run that begins in between are not of the run that the task is in here.
        task = await session.record(id)
        steps = await session.store.client.steps(task.id)
        if session.keeper is not None:
            await fetch_history(session.keeper, History(task, steps, []))
        return task, steps
    except TaskNotFound:
        return None


def archived(place: Path, workflow: str | None = None, codec: PayloadCodec | None = None) -> Iterator[TaskHistory]:
    """The histories of tasks in a file or folder of an archive whose code may run again; ``codec`` opens their
    payloads.

    Raises ArchiveUnavailable.
    """
    for task, steps in archived_tasks(place):
        if task.state not in NEVER_AGAIN and workflow in (None, task.workflow):
            yield (task, steps) if codec is None else opened_history(codec, task, steps)
