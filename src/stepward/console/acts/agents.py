"""Acts on Agents: they are suspended and resumed, and their limits set."""

from __future__ import annotations

from litestar import post
from litestar.response import Redirect

from stepward.client import Client
from stepward.console.acts.form import STALE, SentForm, back_to, sent_form
from stepward.console.acts.limits import set_limit
from stepward.console.page_frame import PageRequest, SharedConsole
from stepward.console.pages.agents import agent_version
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal
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
    return back_to(request, "/agents", AGENT_ACTS.get(verb, "resume_agent"))


async def _agent_act(client: Client, name: str, verb: str, form: SentForm) -> bool:
    """Carries out the act; False where there is nothing to do any more. Raises InvalidArguments for no number."""
    if verb == "set_limit":
        await set_limit(client, agent_limit(name), form)
        return True
    if verb == "reset_limit":
        return await client.reset_limit(agent_limit(name))
    return await (client.suspend_agent(name, form.optional("note")) if verb == "suspend" else client.resume_agent(name))
