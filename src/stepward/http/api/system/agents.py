"""``/api/v1/agents``: the state of each Agent, which is suspended and resumed here."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import get, post
from litestar.params import Body, FromPath
from msgspec import Struct

from stepward.client import Client
from stepward.client.agent_status import AgentState
from stepward.http.access.permissions import Permission
from stepward.http.api.act_reasons import Reason
from stepward.http.api.resources import AgentResource, AgentStatsResource, resource
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal


class SuspendRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reason for a suspension."""

    note: str | None = None


@get("/agents", permission=Permission.READ_ALL)
async def list_agents(client: RequestClient) -> list[AgentResource]:
    """List the Agents that are served, or that steps wait for, by name."""
    return [resource(AgentResource, agent) for agent in await client.unscoped.agents()]


@get("/agents/stats", permission=Permission.READ_ALL)
async def list_agent_stats(client: RequestClient) -> list[AgentStatsResource]:
    """List by Agent how attempts ended and how long they took, in the newest 1,000 tasks of the last hour."""
    return [resource(AgentStatsResource, stats) for stats in await client.unscoped.agent_stats()]


@post("/agents/{name:str}/suspend", permission=Permission.OPERATE, status_code=204)
async def suspend_agent(client: RequestClient, name: FromPath[str], data: Annotated[SuspendRequest, Body()]) -> None:
    """Suspend an Agent: running calls end, no further call starts, and steps wait."""
    if not await client.unscoped.suspend_agent(name, data.note):
        raise HttpRefusal(409, f"Agent {name}: expected one at work, found it suspended already")


@post("/agents/{name:str}/resume", permission=Permission.OPERATE, status_code=204)
async def resume_agent(client: RequestClient, name: FromPath[str], reason: Reason = None) -> None:
    """Resume a suspended Agent."""
    if not await client.unscoped.resume_agent(name):
        raise HttpRefusal(409, f"Agent {name}: expected a suspended one, found {await _found(client.unscoped, name)}")
    await client.give_reason("resume_agent", name, reason)


async def _found(client: Client, name: str) -> Any:
    is_open = any(agent.name == name and agent.state is AgentState.BREAKER_OPEN for agent in await client.agents())
    return "its breaker open, which its instances close once the service is back" if is_open else "it at work"
