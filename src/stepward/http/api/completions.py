"""``/api/v1/completions``: steps that are finished from outside, by their completion tokens."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import post
from litestar.params import Body
from msgspec import UNSET, Struct, UnsetType

from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal


class Failure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The error of a step that has failed for good."""

    message: str
    data: dict[str, Any] = {}


class CompletionRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The outcome of one attempt: a result, or an error."""

    token: str
    result: Any = UNSET
    error: Failure | UnsetType = UNSET


@post("/completions", permission=Permission.ACT, status_code=204)
async def complete_step(client: RequestClient, data: Annotated[CompletionRequest, Body()]) -> None:
    """Finish a step by its completion token."""
    if (data.result is UNSET) == (data.error is UNSET):
        raise HttpRefusal(422, "result, error: expected one of them, found both or none; send one", field="result")
    if isinstance(data.error, UnsetType):
        await client.complete(data.token, data.result)
    else:
        await client.fail(data.token, data.error.message, data.error.data)
