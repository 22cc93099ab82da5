"""Brings each workflow of ``mending.py`` into the trouble that it is about."""

from __future__ import annotations

import asyncio

from stepward import App, TaskHandle
from stepward.model.states import TaskState
from stepward.model.tasks.stopped_tasks import WAITS_FOR
from tests.cli.mending import WORKFLOWS

ENDED = {"waiting": TaskState.WAITING, "stopped": TaskState.WAITING, "suspended": TaskState.SUSPENDED}


async def fill(app: App) -> None:
    """Submit every workflow, and wait until each needs an operator."""
    async with app.running(), app.client() as client:
        handles = [await client.submit(workflow, "o", id=workflow.name) for workflow in WORKFLOWS]
        await client.task("unreadable").signal("approved", "twelve")
        await _until(client.task("suspended"), TaskState.WAITING)
        await client.task("suspended").suspend()
        for handle in handles:
            await _until(handle, ENDED.get(handle.id, TaskState.ERROR))
        undone = client.task("parent_of_undone/refused/1")
        await undone.undo()
        await _until(undone, TaskState.UNDONE)
    async with app.running(), app.client() as client:
        await client.task("stopped").signal("approved")
        while (await client.task("stopped").status()).waits_for != WAITS_FOR:  # noqa: ASYNC110 - as below
            await asyncio.sleep(0)


async def _until(task: TaskHandle, state: TaskState) -> None:
    while (await task.status()).state is not state:  # noqa: ASYNC110 - no event tells of what a store will show
        await asyncio.sleep(0)
