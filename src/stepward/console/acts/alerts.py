"""Acts on alerts: they are acknowledged and silenced, and their sinks tested."""

from __future__ import annotations

from litestar import post
from litestar.response import Redirect

from stepward.client import session_of
from stepward.console.acts.form import STALE, back_to, row_numbers, sent_form
from stepward.console.page_frame import PageRequest, SharedConsole
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal


@post("/alerts/act", permission=Permission.ACT)
async def alert_act(request: PageRequest, client: RequestClient, console: SharedConsole) -> Redirect:
    """Acknowledge alerts."""
    form = await sent_form(request, console.guard, client.principal)
    numbers = row_numbers(form)
    missed = [number for number in numbers if not await client.acknowledge(number)]
    console.forget()
    if missed:
        raise HttpRefusal(
            409, f"alert {missed[0]}: expected an open one, found none such; it was acknowledged meanwhile"
        )
    return back_to(request, "/alerts", "acknowledge")


@post("/alerts/test", permission=Permission.OPERATE)
async def sink_act(request: PageRequest, client: RequestClient, console: SharedConsole) -> Redirect:
    """Have the leading Supervisor send a test to one sink."""
    form = await sent_form(request, console.guard, client.principal)
    session, name = session_of(client.unscoped), form.text("name")
    if await session.store.operators.test_sink(name, session.actor) is None:
        raise HttpRefusal(409, f"sink {name[:100]}: {STALE}")
    return back_to(request, "/alerts", "test_sink")


@post("/alerts/webhook", permission=Permission.OPERATE)
async def webhook_act(request: PageRequest, client: RequestClient, console: SharedConsole) -> Redirect:
    """Have a webhook get nothing more, or its events again."""
    form = await sent_form(request, console.guard, client.principal)
    name, verb = form.text("name"), form.text("verb")
    act = client.unscoped.enable_webhook if verb == "enable" else client.unscoped.disable_webhook
    if not await act(name):
        raise HttpRefusal(409, f"webhook {name[:100]}: {STALE}")
    return back_to(request, "/alerts", "enable_webhook" if verb == "enable" else "disable_webhook")


@post("/alerts/silence", permission=Permission.OPERATE)
async def silence_act(request: PageRequest, client: RequestClient, console: SharedConsole) -> Redirect:
    """Tell the sinks nothing of a kind of alerts until a time, or tell them again."""
    form = await sent_form(request, console.guard, client.principal)
    kind, workflow, sinks = form.text("kind"), form.optional("workflow"), client.unscoped.alert_sinks
    if form.text("verb") == "unsilence":
        if not await sinks.unsilence(kind, workflow):
            raise HttpRefusal(409, f"silence of {kind[:100]}: {STALE}")
        return back_to(request, "/alerts", "unsilence")
    await sinks.silence(kind, form.text("until").strip() or "0", workflow=workflow, note=form.optional("note"))
    return back_to(request, "/alerts", "silence")
