"""Tasks that other verbs begin, with the plans that their workflows have declared."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.plan import NO_PLANS, Plans, from_json
from stepward.model.records import Task
from stepward.store.verbs.connection import VerbConnection


async def begin(connection: VerbConnection, tasks: Sequence[Task], workflow: str, version: str) -> None:
    """Submit tasks of one workflow with its plan."""
    await connection.submit(tasks, await _plans(connection, workflow, version))


async def _plans(connection: VerbConnection, workflow: str, version: str) -> Plans:
    row = await connection.row("submission.plan", workflow, version)
    return {(workflow, version): from_json(row[0])} if row else NO_PLANS
