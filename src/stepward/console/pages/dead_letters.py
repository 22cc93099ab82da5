"""The page of dead letters."""

from __future__ import annotations

from litestar import get

from stepward.console.page_frame import ROWS_SHOWN, PageRequest, PageResponse, SharedConsole
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient


@get("/dead-letters", permission=Permission.READ_ALL)
async def dead_letters_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """Messages that could not be processed."""
    found = await client.dead_letters(ROWS_SHOWN)
    return await console.page(request, client, "dead_letters.html", {"letters": found, "limit": ROWS_SHOWN})
