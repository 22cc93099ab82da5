"""The page of the audit."""

from __future__ import annotations

from litestar import get

from stepward.console.page_frame import ROWS_SHOWN, PageRequest, PageResponse, SharedConsole
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient


@get("/audit", permission=Permission.READ_ALL)
async def audit_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """The audit, newest first."""
    found = await client.all_audits(ROWS_SHOWN)
    return await console.page(request, client, "audit.html", {"audits": found, "limit": ROWS_SHOWN})
