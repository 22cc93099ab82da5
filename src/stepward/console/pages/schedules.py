"""The page of schedules."""

from __future__ import annotations

from litestar import get

from stepward.console.page_frame import PageRequest, PageResponse, SharedConsole
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient


@get("/schedules", permission=Permission.READ)
async def schedules_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """The schedules."""
    return await console.page(request, client, "schedules.html", {"schedules": await client.schedules()})
