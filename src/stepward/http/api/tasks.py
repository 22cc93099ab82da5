"""``/api/v1/tasks``: tasks, where each stands, and its steps."""

from __future__ import annotations

from typing import Annotated

from litestar import get
from litestar.params import FromQuery, QueryParameter
from msgspec import Struct

from stepward.client import StepRecord, TaskStatus
from stepward.http.access.permissions import Permission
from stepward.http.api.addresses import PathId, task_id_of
from stepward.http.injected import RequestClient
from stepward.model.states import TaskState

LIMIT = 100
MOST = 1_000


class TaskPage(Struct, frozen=True):
    """Tasks, newest first."""

    tasks: list[TaskStatus]


@get("/tasks", permission=Permission.READ)
async def list_tasks(
    client: RequestClient,
    in_state: Annotated[TaskState | None, QueryParameter(name="state")] = None,
    workflow: FromQuery[str | None] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=MOST)] = LIMIT,
) -> TaskPage:
    """List tasks, newest first."""
    return TaskPage(await client.tasks(state=in_state, workflow=workflow, limit=limit))


@get("/tasks/{task_id:str}", permission=Permission.READ)
async def show_task(client: RequestClient, task_id: PathId) -> TaskStatus:
    """Where a task stands."""
    return await client.status(task_id_of(task_id))


@get("/tasks/{task_id:str}/steps", permission=Permission.READ)
async def list_steps(client: RequestClient, task_id: PathId) -> list[StepRecord]:
    """Every step that was asked for or that a plan names, in order."""
    return await client.steps(task_id_of(task_id))
