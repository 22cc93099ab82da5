"""``POST /api/v1/tasks/{id}/fork``: an ended task run again from one of its steps, as a new task."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Request, Response, get, post
from litestar.params import Body
from msgspec import Struct

from stepward.client import session_of
from stepward.http.access.permissions import Permission
from stepward.http.api.act_reasons import Reason
from stepward.http.api.tasks.etags import versions_in
from stepward.http.api.tasks.task_acts import IfMatch
from stepward.http.api.tasks.task_paths import PathId, task_id_of, task_path
from stepward.http.dependencies import RequestClient
from stepward.views.forks import forks_of


class ForkRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The step from which a task is run again, and how."""

    from_step: str
    """The key of the first step that is run again; those before it are taken over with their outcomes."""
    arguments: list[Any] | None = None
    """Other arguments of the workflow."""
    version: str | None = None
    """Another version of the workflow."""
    id: str | None = None
    """The id of the new task."""
    undo_later: bool = False
    """Whether the new task first undoes what the task did from that step on."""


class ForkResult(Struct, frozen=True):
    """The new task."""

    id: str
    origin: str
    """The id of the task that it was forked from."""


class ForkLinkResource(Struct, frozen=True):
    """The other task of a fork, and the step from which the fork went on."""

    id: str
    step: str


class ProvenanceResource(Struct, frozen=True):
    """What a task was forked from, and what was forked from it."""

    origin: ForkLinkResource | None
    forks: list[ForkLinkResource]
    """The newest first, at most 20."""


@get("/tasks/{task_id:str}/provenance", permission=Permission.READ)
async def show_provenance(client: RequestClient, task_id: PathId) -> ProvenanceResource:
    """Show what the task was forked from, and what was forked from it."""
    found = await client.find(task_id_of(task_id))
    steps = await session_of(found.client).store.client.steps(found.record.id)
    known = await forks_of(found.client, found.record, steps)
    origin = None if known.origin is None else ForkLinkResource(known.origin.id, known.origin.step)
    return ProvenanceResource(origin, [ForkLinkResource(each.id, each.step) for each in known.forks])


@post("/tasks/{task_id:str}/fork", permission=Permission.ACT, status_code=202)
async def fork_task(
    request: Request[Any, Any, Any],
    client: RequestClient,
    task_id: PathId,
    data: Annotated[ForkRequest, Body()],
    if_match: IfMatch = None,
    reason: Reason = None,
) -> Response[ForkResult]:
    """Run an ended task again from one of its steps, as a new task. 202 with the Location of that."""
    found = await client.find(task_id_of(task_id))
    made = await client.acting(found, reason=reason, expected=versions_in(if_match)).fork(
        data.from_step, args=data.arguments, version=data.version, id=data.id, undo_later=data.undo_later
    )
    location = f"{request.scope.get('stepward.base', '')}{task_path(made.id)}"
    return Response(ForkResult(made.id, found.record.id), status_code=202, headers={"Location": location})
