"""Acts on Agents, alerts, instances, schedules and dead letters."""

from __future__ import annotations

from litestar import post
from litestar.response import Redirect

from stepward.client import Client, session_of
from stepward.console.acts.form import STALE, SentForm, sent_form
from stepward.console.page_frame import PageRequest, SharedConsole, root_of
from stepward.console.pages.agents import agent_version
from stepward.errors import InvalidArguments
from stepward.http.access.permissions import Permission
from stepward.http.access.scopes.scoped_client import ScopedClient
from stepward.http.dependencies import RequestClient
from stepward.http.problems import HttpRefusal
from stepward.model.console_links import task_href
from stepward.model.limits.flow_limit import agent_limit

AGENT_ACTS = {"suspend": "suspend_agent", "set_limit": "set_limit", "reset_limit": "reset_limit"}
"""By the verb of a form on an Agent: the key of the message that the next page shows."""


@post("/agents/act", permission=Permission.OPERATE)
async def agent_act(request: PageRequest, client: RequestClient, console: SharedConsole) -> Redirect:
    """Suspend or resume an Agent, or set or reset its limit."""
    form = await sent_form(request, console.guard, client.principal)
    name, verb, unscoped = form.text("name"), form.text("verb"), client.unscoped
    limits = {limit.name: limit for limit in await unscoped.limits()}
    found = [
        agent_version(agent, limits.get(agent_limit(name))) for agent in await unscoped.agents() if agent.name == name
    ]
    form.check_version(found[0] if found else "")
    if not await _agent_act(unscoped, name, verb, form):
        raise HttpRefusal(409, f"Agent {name[:100]}: {STALE}")
    return _back(request, "/agents", AGENT_ACTS.get(verb, "resume_agent"))


async def _agent_act(client: Client, name: str, verb: str, form: SentForm) -> bool:
    """Carries out the act; False where there is nothing to do any more. Raises InvalidArguments for no number."""
    if verb == "set_limit":
        concurrency = form.number("concurrency") if form.text("concurrency").strip() else None
        rate = form.text("rate").strip() or None
        if concurrency is None and rate is None:
            raise InvalidArguments("limit: expected a number of calls at once or a rate, found neither; fill in one")
        await client.set_limit(agent_limit(name), concurrency, rate, note=form.optional("note"))
        return True
    if verb == "reset_limit":
        return await client.reset_limit(agent_limit(name))
    return await (client.suspend_agent(name, form.optional("note")) if verb == "suspend" else client.resume_agent(name))


@post("/alerts/act", permission=Permission.ACT)
async def alert_act(request: PageRequest, client: RequestClient, console: SharedConsole) -> Redirect:
    """Acknowledge alerts."""
    form = await sent_form(request, console.guard, client.principal)
    numbers = _numbers(form)
    missed = [number for number in numbers if not await client.acknowledge(number)]
    console.forget()
    if missed:
        raise HttpRefusal(
            409, f"alert {missed[0]}: expected an open one, found none such; it was acknowledged meanwhile"
        )
    return _back(request, "/alerts", "acknowledge")


@post("/alerts/test", permission=Permission.OPERATE)
async def sink_act(request: PageRequest, client: RequestClient, console: SharedConsole) -> Redirect:
    """Have the leading Supervisor send a test to one sink."""
    form = await sent_form(request, console.guard, client.principal)
    session, name = session_of(client.unscoped), form.text("name")
    if await session.store.operators.test_sink(name, session.actor) is None:
        raise HttpRefusal(409, f"sink {name[:100]}: {STALE}")
    return _back(request, "/alerts", "test_sink")


@post("/alerts/silence", permission=Permission.OPERATE)
async def silence_act(request: PageRequest, client: RequestClient, console: SharedConsole) -> Redirect:
    """Tell the sinks nothing of a kind of alerts until a time, or tell them again."""
    form = await sent_form(request, console.guard, client.principal)
    kind, workflow, sinks = form.text("kind"), form.optional("workflow"), client.unscoped.alert_sinks
    if form.text("verb") == "unsilence":
        if not await sinks.unsilence(kind, workflow):
            raise HttpRefusal(409, f"silence of {kind[:100]}: {STALE}")
        return _back(request, "/alerts", "unsilence")
    await sinks.silence(kind, form.text("until").strip() or "0", workflow=workflow, note=form.optional("note"))
    return _back(request, "/alerts", "silence")


@post("/instances/drain", permission=Permission.OPERATE)
async def drain_act(request: PageRequest, client: RequestClient, console: SharedConsole) -> Redirect:
    """Have the process of an instance end in good order."""
    form = await sent_form(request, console.guard, client.principal)
    if not await client.unscoped.drain_instance(form.text("id")):
        raise HttpRefusal(409, f"instance {form.text('id')[:100]}: {STALE}")
    return _back(request, "/instances", "drain")


@post("/schedules/act", permission=Permission.OPERATE)
async def schedule_act(request: PageRequest, client: RequestClient, console: SharedConsole) -> Redirect:
    """Pause, resume, trigger, backfill or remove a schedule."""
    form = await sent_form(request, console.guard, client.principal)
    name, verb, unscoped = form.text("name"), form.text("verb"), client.unscoped
    if verb == "remove":
        _check_administers(client)
        form.check_typed(name)
        await unscoped.remove_schedule(name)
    elif verb == "trigger":
        task = await unscoped.trigger_schedule(name)
        return _back(request, task_href(task.id), "trigger_schedule")
    elif verb == "backfill":
        await unscoped.backfill_schedule(name, form.text("start").strip(), form.text("end").strip())
        return _back(request, "/schedules", "backfill_schedule")
    elif not await (unscoped.pause_schedule if verb == "pause" else unscoped.resume_schedule)(name):
        raise HttpRefusal(
            409, f"schedule {name[:100]}: it has changed since the page was shown; look again, then decide"
        )
    return _back(request, "/schedules", f"{verb if verb in ('pause', 'remove') else 'resume'}_schedule")


@post("/dead-letters/act", permission=Permission.OPERATE)
async def dead_letter_act(request: PageRequest, client: RequestClient, console: SharedConsole) -> Redirect:
    """Put dead letters back, or discard them once their number is typed."""
    form = await sent_form(request, console.guard, client.principal)
    numbers, verb = _numbers(form), form.text("verb")
    if verb == "discard":
        _check_administers(client)
        form.check_typed(str(len(numbers)))
        found = await client.unscoped.discard(*numbers)
    else:
        found = await client.unscoped.put_back(*numbers)
    console.forget()
    missed = sorted(set(numbers) - set(found))
    if missed:
        raise HttpRefusal(
            409,
            f"dead letter {missed[0]}: expected one in the store, found none; it was put back or discarded meanwhile",
        )
    return _back(request, "/dead-letters", "discard" if verb == "discard" else "put_back")


def _check_administers(client: ScopedClient) -> None:
    """Raises HttpRefusal (403) for what cannot be taken back, unless the principal is an admin."""
    if not client.principal.may(Permission.ADMINISTER):
        raise HttpRefusal(403, f"expected a principal with the permission administer, found {client.principal.role}")


def _numbers(form: SentForm) -> list[int]:
    numbers = [int(text) for text in form.ids if text.isdecimal() and len(text) <= 18]
    if not numbers:
        raise InvalidArguments("selection: expected at least one, found none; tick what is meant")
    return numbers


def _back(request: PageRequest, path: str, done: str) -> Redirect:
    return Redirect(f"{root_of(request)}{path}?done={done}", status_code=303)
