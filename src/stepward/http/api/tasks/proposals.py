"""``/api/v1/tasks/{id}/proposals``: acts that wait for a second person, where the two-person rule is on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, get, post
from litestar.params import PathParameter
from msgspec import Struct

from stepward.http.access.permissions import Permission
from stepward.http.access.scopes.scoped_client import ScopedClient
from stepward.http.access.two_person import ActProposed, Proposal, TwoPersonRule
from stepward.http.api.tasks.task_acts import ActResult
from stepward.http.api.tasks.task_paths import PathId, task_id_of
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal

ProposalId = Annotated[str, PathParameter(description="The proposal's id.", max_length=100)]


class ProposalResource(Struct, frozen=True, kw_only=True):
    """An act that waits for a second person."""

    id: str
    verb: str
    step: str | None
    actor: str
    """The principal that proposed it."""
    reason: str | None
    """Null where payloads are not shown."""
    at: datetime
    expires_at: datetime


@get("/tasks/{task_id:str}/proposals", permission=Permission.READ)
async def list_proposals(client: RequestClient, task_id: PathId) -> list[ProposalResource]:
    """List the open proposals for a task, newest first."""
    found = await client.find(task_id_of(task_id))
    rule = client.two_persons
    return [] if rule is None else [_shown(client, each) for each in await rule.proposals(found.record)]


@post("/tasks/{task_id:str}/proposals/{proposal:str}/confirm", permission=Permission.ACT, status_code=202)
async def confirm_proposal(client: RequestClient, task_id: PathId, proposal: ProposalId) -> ActResult:
    """Carry out what another principal has proposed, if the task has not changed since."""
    found = await client.find(task_id_of(task_id))
    return ActResult(found.record.id, await rule_of(client).confirm(found.record, proposal))


def rule_of(client: ScopedClient) -> TwoPersonRule:
    """The two-person rule. Raises HttpRefusal where it is off."""
    if client.two_persons is None:
        raise HttpRefusal(409, "proposal: expected the two-person rule to be on, found it off; act directly")
    return client.two_persons


def proposed(_: Request[Any, Any, Any], outcome: ActProposed) -> Response[bytes]:
    """The answer to an act that was proposed."""
    result = ActResult(outcome.task, outcome.state, outcome.proposal)
    return Response(msgspec.json.encode(result), status_code=202, media_type="application/json")


def _shown(client: ScopedClient, found: Proposal) -> ProposalResource:
    return ProposalResource(
        id=found.proposal,
        verb=found.directive.verb,
        step=found.directive.step,
        actor=found.actor,
        reason=found.reason if client.principal.payloads else None,
        at=datetime.fromtimestamp(found.at, UTC),
        expires_at=datetime.fromtimestamp(found.expires_at, UTC),
    )
