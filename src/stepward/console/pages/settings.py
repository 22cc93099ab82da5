"""The page of settings: the principal, and what is served."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from litestar import get

from stepward.client import session_of
from stepward.console.page_frame import ROWS_SHOWN, PageRequest, PageResponse, SharedConsole
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient
from stepward.model.credentials import Credential, CredentialKind
from stepward.model.records import Role


@get("/settings", permission=Permission.SIGNED_IN)
async def settings_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """The principal, and the versions of workflows that are served."""
    return await console.page(request, client, "settings.html", await settings_values(client))


async def settings_values(client: Any) -> dict[str, Any]:
    """The principal, the versions that are served, and whether they differ."""
    principal = client.principal
    may_all = principal.may(Permission.READ_ALL)
    instances = await client.unscoped.instances() if may_all else []
    served: dict[str, int] = {}
    for instance in instances:
        if instance.alive and instance.role is Role.SCHEDULER:
            for name in instance.serves:
                served[name] = served.get(name, 0) + 1
    allowed = [
        permission.value
        for permission in Permission
        if principal.may(permission) and permission is not Permission.PUBLIC
    ]
    tokens = await _tokens(client) if may_all and principal.may(Permission.ADMINISTER) else None
    return {
        "stepward_version": version("stepward"),
        "served": sorted(served.items()),
        "allowed": allowed,
        "tokens": tokens,
        "limit": ROWS_SHOWN,
    }


async def _tokens(client: Any) -> list[Credential]:
    """The API tokens that are worth something now, by name."""
    found = await session_of(client.unscoped).store.operators.credentials()
    live = [each for each in found if each.kind is CredentialKind.TOKEN and each.is_live(client.now())]
    return sorted(live, key=lambda each: each.name)[:ROWS_SHOWN]
