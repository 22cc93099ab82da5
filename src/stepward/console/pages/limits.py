"""The page of the limits of workflows; those of Agents stand on the page of Agents."""

from __future__ import annotations

from litestar import get

from stepward.client import LimitStatus
from stepward.console.form_tokens import listed_version
from stepward.console.page_frame import PageRequest, PageResponse, SharedConsole
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient
from stepward.model.limits.flow_limit import WORKFLOW


@get("/limits", permission=Permission.READ_ALL)
async def limits_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """How many tasks of each workflow run at once, start within a time, and wait for others to end."""
    rows = [
        {"limit": limit, "workflow": limit.name.removeprefix(WORKFLOW), "version": limit_version(limit)}
        for limit in await client.unscoped.limits()
        if limit.name.startswith(WORKFLOW)
    ]
    return await console.page(request, client, "limits.html", {"rows": rows, "unlimited": limit_version(None)})


def limit_version(limit: LimitStatus | None) -> str:
    """The version of what a form on a limit was decided on; None: there is none yet."""
    return listed_version([limit and limit.concurrency, limit and limit.rate, limit and limit.set_at])
