"""``POST /api/v1/tasks/{id}/updates/{name}``: asks a task for an update, and waits for its answer on request."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from litestar import Request, Response, post
from litestar.params import Body, HeaderParameter, PathParameter
from msgspec import Struct

from stepward.client import TaskHandle
from stepward.errors import UpdateRejected
from stepward.http.access.permissions import Permission
from stepward.http.api.act_reasons import Reason
from stepward.http.api.tasks.etags import versions_in
from stepward.http.api.tasks.submissions import wait_seconds
from stepward.http.api.tasks.task_acts import IfMatch
from stepward.http.api.tasks.task_paths import PathId, task_id_of
from stepward.http.dependencies import RequestClient
from stepward.http.streaming.stream_limits import StreamSlots

UpdateName = Annotated[str, PathParameter(description="The name of the update.", max_length=200)]


class UpdateRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An update."""

    payload: Any = None
    id: str | None = None
    """Its id: an update is carried out once, and a repeated request with the same id gives its answer."""


class UpdateResult(Struct, frozen=True, kw_only=True):
    """How far an update is."""

    id: str
    """The id of the update."""
    state: Literal["asked", "accepted", "rejected"]
    result: Any = None
    """The task's answer; null for a principal that may not see payloads."""
    error: str | None = None
    """Why the task rejects it."""


@post("/tasks/{task_id:str}/updates/{name:str}", permission=Permission.ACT, status_code=202)
async def update_task(
    request: Request[Any, Any, Any],
    client: RequestClient,
    task_id: PathId,
    name: UpdateName,
    data: Annotated[UpdateRequest, Body()],
    prefer: Annotated[str | None, HeaderParameter(name="Prefer")] = None,
    if_match: IfMatch = None,
    reason: Reason = None,
) -> Response[UpdateResult]:
    """Ask the task for an update. With ``Prefer: wait=N`` 200 and its answer if it came within N seconds, else 202."""
    found = await client.find(task_id_of(task_id))
    await client.note_payloads(found.record)
    handle = client.acting(found, reason=reason, expected=versions_in(if_match))
    id = client.new_id() if data.id is None else data.id
    slots: StreamSlots = request.app.state.slots
    seconds = wait_seconds(prefer) if slots.is_free(client.principal) else 0
    with slots.held(client.principal):
        answer = await _asked(handle, name, data.payload, id, seconds, by=client.principal.name)
    if not client.principal.payloads:
        answer = UpdateResult(id=id, state=answer.state)
    applied = {"Preference-Applied": f"wait={seconds}"} if seconds else {}
    return Response(answer, status_code=202 if answer.state == "asked" else 200, headers=applied)


async def _asked(handle: TaskHandle, name: str, payload: Any, id: str, seconds: int, *, by: str) -> UpdateResult:
    try:
        result = await handle.update(name, payload, id=id, timeout=seconds, by=by)
    except UpdateRejected as error:
        return UpdateResult(id=id, state="rejected", error=str(error))
    except TimeoutError:
        return UpdateResult(id=id, state="asked")
    return UpdateResult(id=id, state="accepted", result=result)
