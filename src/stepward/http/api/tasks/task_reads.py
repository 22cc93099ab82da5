"""``/api/v1/tasks``: tasks, with their status, steps, audit and history."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Response, get
from litestar.params import FromQuery, QueryParameter
from msgspec import Struct

from stepward.http.access.permissions import Permission
from stepward.http.access.scopes.scoped_client import ScopedClient
from stepward.http.api.resources import AuditResource, StepResource, TaskDetail, TaskResource, resource
from stepward.http.api.tasks.etags import etag_of
from stepward.http.api.tasks.history import HistoryEntry, history_of
from stepward.http.api.tasks.task_paths import PathId, task_id_of
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal
from stepward.model.states import TaskState
from stepward.payload import displayed
from stepward.store.search.lexer import LONGEST_FILTER

LIMIT = 100
MOST = 1_000
HISTORY = 1_000
FILTER = "A filter in the language of search, such as state = 'error' and created > '2h ago'."
ListLimit = Annotated[int, QueryParameter(ge=1, le=MOST, description="How many at most.")]


class TaskPage(Struct, frozen=True):
    """Tasks, newest first."""

    tasks: list[TaskResource]
    next: str | None
    """The cursor of the next page; null on the last page."""


@get("/tasks", permission=Permission.READ)
async def list_tasks(
    client: RequestClient,
    in_state: Annotated[TaskState | None, QueryParameter(name="state")] = None,
    workflow: FromQuery[str | None] = None,
    label: Annotated[str | None, QueryParameter(description="NAME=VALUE")] = None,
    where: Annotated[str | None, QueryParameter(max_length=LONGEST_FILTER, description=FILTER)] = None,
    cursor: Annotated[str | None, QueryParameter(pattern="^[A-Za-z0-9_-]{1,400}$")] = None,
    limit: ListLimit = LIMIT,
) -> TaskPage:
    """List tasks, newest first."""
    found = await client.tasks(
        state=in_state, workflow=workflow, label=_label(label), where=where, limit=limit, cursor=cursor
    )
    return TaskPage([resource(TaskResource, task) for task in found.tasks], found.cursor)


@get("/tasks/{task_id:str}", permission=Permission.READ)
async def show_task(client: RequestClient, task_id: PathId) -> Response[TaskDetail]:
    """Show a task with its arguments and its result; its ETag is for If-Match of an act."""
    return await answer_of(client, task_id_of(task_id))


@get("/tasks/{task_id:str}/steps", permission=Permission.READ)
async def list_steps(client: RequestClient, task_id: PathId) -> list[StepResource]:
    """List every step that was requested or that a plan names, in order."""
    return [resource(StepResource, step) for step in await client.steps(task_id_of(task_id))]


@get("/tasks/{task_id:str}/audit", permission=Permission.READ)
async def list_acts(client: RequestClient, task_id: PathId, limit: ListLimit = LIMIT) -> list[AuditResource]:
    """List the audit of a task, newest first."""
    return [resource(AuditResource, act) for act in await client.audits(task_id_of(task_id), limit)]


@get("/tasks/{task_id:str}/history", permission=Permission.READ)
async def show_history(client: RequestClient, task_id: PathId) -> list[HistoryEntry]:
    """Show the history of a task, oldest first: its steps, acts on it, its end."""
    id = task_id_of(task_id)
    return history_of(await client.status(id), await client.steps(id), await client.audits(id, HISTORY))


async def answer_of(client: ScopedClient, id: str, status_code: int = 200, **headers: str) -> Response[TaskDetail]:
    """The answer that shows a task. Raises TaskNotFound."""
    record, status = await client.record_and_status(id)
    shown = client.principal.payloads
    more: dict[str, Any] = {"input": None, "output": None} if not shown else {}
    detail = {name: displayed(getattr(record, name)) for name in ("input", "output")} | more
    found = resource(TaskDetail, status, **detail, reply_to=record.reply_to, events=record.events, payloads=shown)
    return Response(found, status_code=status_code, headers={"ETag": etag_of(status), **headers})


def _label(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    name, equals, value = text.partition("=")
    if not equals:
        raise HttpRefusal(422, f"label: expected NAME=VALUE, found {text[:60]!r}", field="label")
    return name, value
