"""Acts on the limits of workflows: they are set, and reset to what the code declares."""

from __future__ import annotations

from litestar import post
from litestar.response import Redirect

from stepward.client import Client
from stepward.console.acts.form import STALE, SentForm, back_to, sent_form
from stepward.console.page_frame import PageRequest, SharedConsole
from stepward.console.pages.limits import limit_version
from stepward.errors import InvalidArguments
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal
from stepward.model.limits.flow_limit import workflow_limit


@post("/limits/act", permission=Permission.OPERATE)
async def limit_act(request: PageRequest, client: RequestClient, console: SharedConsole) -> Redirect:
    """Set or reset the limit of a workflow."""
    form = await sent_form(request, console.guard, client.principal)
    name, verb, unscoped = workflow_limit(form.text("name").strip()), form.text("verb"), client.unscoped
    limits = {limit.name: limit for limit in await unscoped.limits()}
    form.check_version(limit_version(limits.get(name)))
    if verb != "reset_limit":
        await set_limit(unscoped, name, form)
    elif not await unscoped.reset_limit(name):
        raise HttpRefusal(409, f"limit {name[:100]}: {STALE}")
    return back_to(request, "/limits", "reset_limit" if verb == "reset_limit" else "set_limit")


async def set_limit(client: Client, name: str, form: SentForm) -> None:
    """Set what the form gives in place of what is declared. Raises InvalidArguments for a form that gives nothing."""
    concurrency = form.number("concurrency") if form.text("concurrency").strip() else None
    rate = form.text("rate").strip() or None
    if concurrency is None and rate is None:
        raise InvalidArguments("limit: expected a number of those at once or a rate, found neither; fill in one")
    await client.set_limit(name, concurrency, rate, note=form.optional("note"))
