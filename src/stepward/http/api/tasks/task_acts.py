"""``POST /api/v1/tasks/{id}/…``: directives and signals. Each is audited under the principal's name."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import get, post
from litestar.params import Body, FromQuery, HeaderParameter
from msgspec import UNSET, Struct, UnsetType

from stepward.client import UNSET as NOT_GIVEN
from stepward.client import RepairPreview, TaskHandle
from stepward.http.access.permissions import Permission
from stepward.http.access.scopes.scoped_client import ScopedClient
from stepward.http.api.act_reasons import Reason
from stepward.http.api.instants import instant_or_duration
from stepward.http.api.tasks.etags import versions_in
from stepward.http.api.tasks.task_paths import PathId, task_id_of
from stepward.http.dependencies import RequestClient
from stepward.model.states import TaskState
from stepward.store.contract import Doubt, Later

IfMatch = Annotated[
    str | None, HeaderParameter(name="If-Match", description="The ETag of the task as the page showed it.")
]


class ActResult(Struct, frozen=True):
    """The task after an act; a task that a Scheduler holds changes shortly afterwards."""

    id: str
    state: TaskState
    proposal: str | None = None
    """With the two-person rule: the act was not carried out, and is when another principal confirms this."""


class ResubmitRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to continue a task in error."""

    step: str | None = None
    input: list[Any] | UnsetType = UNSET
    """The arguments to repeat the step with."""
    failed_children: bool = False
    """Whether every child task that failed is repeated, in place of a step."""
    doubt: Doubt | None = None
    later: Later | None = None
    complete_by: str | float | None = None
    priority: int | None = None


class MarkDoneRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result of a step that was done by hand."""

    step: str
    result: Any
    later: Later | None = None
    complete_by: str | float | None = None


class SignalRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signal."""

    name: str
    payload: Any = None
    id: str | None = None
    """An id for deduplication: a signal whose id was received before is dropped."""


class SignalResult(Struct, frozen=True):
    """Whether the signal was accepted."""

    id: str
    fresh: bool
    """False: a signal with that id was received before."""


@post("/tasks/{task_id:str}/cancel", permission=Permission.ACT, status_code=202)
async def cancel_task(
    client: RequestClient, task_id: PathId, if_match: IfMatch = None, reason: Reason = None
) -> ActResult:
    """Stop the task, undo its steps, and end it as cancelled."""
    task = await _task(client, task_id, if_match, reason)
    return ActResult(task.id, await task.cancel())


@post("/tasks/{task_id:str}/undo", permission=Permission.ACT, status_code=202)
async def undo_task(
    client: RequestClient, task_id: PathId, if_match: IfMatch = None, reason: Reason = None
) -> ActResult:
    """Undo the task, even a processed one."""
    task = await _task(client, task_id, if_match, reason)
    return ActResult(task.id, await task.undo())


@post("/tasks/{task_id:str}/suspend", permission=Permission.ACT, status_code=202)
async def suspend_task(
    client: RequestClient, task_id: PathId, if_match: IfMatch = None, reason: Reason = None
) -> ActResult:
    """Start no further step of the task until it is resumed."""
    task = await _task(client, task_id, if_match, reason)
    return ActResult(task.id, await task.suspend())


@post("/tasks/{task_id:str}/resume", permission=Permission.ACT, status_code=202)
async def resume_task(
    client: RequestClient, task_id: PathId, if_match: IfMatch = None, reason: Reason = None
) -> ActResult:
    """Continue a suspended task."""
    task = await _task(client, task_id, if_match, reason)
    return ActResult(task.id, await task.resume())


@post("/tasks/{task_id:str}/resubmit", permission=Permission.ACT, status_code=202)
async def resubmit_task(
    client: RequestClient,
    task_id: PathId,
    data: Annotated[ResubmitRequest, Body()],
    if_match: IfMatch = None,
    reason: Reason = None,
) -> ActResult:
    """Continue a task in error: the step that failed is repeated."""
    task = await _task(client, task_id, if_match, reason)
    state = await task.resubmit(
        data.step,
        NOT_GIVEN if isinstance(data.input, UnsetType) else data.input,
        failed_children=data.failed_children,
        doubt=data.doubt,
        later=data.later,
        complete_by=instant_or_duration(data.complete_by),
        priority=data.priority,
    )
    return ActResult(task.id, state)


@post("/tasks/{task_id:str}/mark-done", permission=Permission.ACT, status_code=202)
async def mark_step_done(
    client: RequestClient,
    task_id: PathId,
    data: Annotated[MarkDoneRequest, Body()],
    if_match: IfMatch = None,
    reason: Reason = None,
) -> ActResult:
    """Record the result of a step that was done by hand, and continue the task."""
    task = await _task(client, task_id, if_match, reason)
    by = instant_or_duration(data.complete_by)
    return ActResult(task.id, await task.mark_done(data.step, data.result, later=data.later, complete_by=by))


@get("/tasks/{task_id:str}/preview", permission=Permission.READ)
async def preview_repair(client: RequestClient, task_id: PathId, step: FromQuery[str | None] = None) -> RepairPreview:
    """How resubmit or mark-done of the step that failed (or ``step``) would change the record."""
    return await (await _task(client, task_id)).preview(step)


@post("/tasks/{task_id:str}/signals", permission=Permission.ACT, status_code=202)
async def signal_task(
    client: RequestClient,
    task_id: PathId,
    data: Annotated[SignalRequest, Body()],
    if_match: IfMatch = None,
    reason: Reason = None,
) -> SignalResult:
    """Send the task a signal."""
    task = await _task(client, task_id, if_match, reason)
    return SignalResult(task.id, await task.signal(data.name, data.payload, data.id, by=client.principal.name))


async def _task(client: ScopedClient, part: str, if_match: str | None = None, reason: str | None = None) -> TaskHandle:
    found = await client.find(task_id_of(part))
    return client.acting(found, reason=reason, expected=versions_in(if_match))
