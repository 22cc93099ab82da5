"""``/api/v1/limits``: how much may run at once, changed while everything runs."""

from __future__ import annotations

from typing import Annotated

from litestar import get, post
from litestar.params import Body, FromPath
from msgspec import UNSET, Struct, UnsetType

from stepward.client import UNSET as NOT_GIVEN
from stepward.http.access.permissions import Permission
from stepward.http.api.act_reasons import Reason
from stepward.http.api.resources import LimitResource, resource
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal


class SetLimitRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limit that is to hold in place of what code declares; null: no bound, left out: as it is in force."""

    concurrency: int | UnsetType | None = UNSET
    """How many may run at once, over all processes together."""
    rate: str | UnsetType | None = UNSET
    """How many calls or tasks may start within a time, such as 50/s."""
    note: str | None = None
    """The reason, shown beside the limit."""


@get("/limits", permission=Permission.READ_ALL)
async def list_limits(client: RequestClient) -> list[LimitResource]:
    """List the limits, by name, with what runs under each."""
    return [resource(LimitResource, limit) for limit in await client.unscoped.limits()]


@post("/limits/{name:str}", permission=Permission.OPERATE, status_code=204)
async def set_limit(client: RequestClient, name: FromPath[str], data: Annotated[SetLimitRequest, Body()]) -> None:
    """Set a limit in place of what code declares: it holds within a second, and breaks off nothing that runs."""
    concurrency = NOT_GIVEN if isinstance(data.concurrency, UnsetType) else data.concurrency
    rate = NOT_GIVEN if isinstance(data.rate, UnsetType) else data.rate
    await client.unscoped.set_limit(name, concurrency, rate, note=data.note)


@post("/limits/{name:str}/reset", permission=Permission.OPERATE, status_code=204)
async def reset_limit(client: RequestClient, name: FromPath[str], reason: Reason = None) -> None:
    """Let what code declares hold again."""
    if not await client.unscoped.reset_limit(name):
        raise HttpRefusal(409, f"limit {name}: expected one that an operator has set, found none such")
    await client.give_reason("reset_limit", name, reason)


LIMIT_ROUTES = (list_limits, set_limit, reset_limit)
