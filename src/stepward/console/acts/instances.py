"""Acts on instances: their processes are drained."""

from __future__ import annotations

from litestar import post
from litestar.response import Redirect

from stepward.console.acts.form import STALE, back_to, sent_form
from stepward.console.page_frame import PageRequest, SharedConsole
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal


@post("/instances/drain", permission=Permission.OPERATE)
async def drain_act(request: PageRequest, client: RequestClient, console: SharedConsole) -> Redirect:
    """Have the process of an instance end in good order."""
    form = await sent_form(request, console.guard, client.principal)
    if not await client.unscoped.drain_instance(form.text("id")):
        raise HttpRefusal(409, f"instance {form.text('id')[:100]}: {STALE}")
    return back_to(request, "/instances", "drain")
