"""The page of Agents."""

from __future__ import annotations

from litestar import get

from stepward.client import AgentStatus, LimitStatus
from stepward.client.agent_status import AgentState
from stepward.console.form_tokens import listed_version
from stepward.console.page_frame import PageRequest, PageResponse, SharedConsole
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient
from stepward.model.limits.flow_limit import agent_limit
from stepward.model.records import Role
from stepward.views.agents import state_of


@get("/agents", permission=Permission.READ_ALL)
async def agents_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """The status of each Agent."""
    now, found = client.now(), await client.unscoped.agents()
    instances = [
        instance for instance in await client.unscoped.instances() if instance.alive and instance.role is Role.AGENT
    ]
    limits = {limit.name: limit for limit in await client.unscoped.limits()}
    stats = {each.name: each for each in await client.unscoped.agent_stats()}
    rows = [
        {
            "agent": agent,
            "stats": stats.get(agent.name),
            "limit": (limit := limits.get(agent_limit(agent.name))),
            "said": state_of(agent, now),
            "tone": agent_tone(agent),
            "can_suspend": agent.state is not AgentState.SUSPENDED,
            "can_resume": agent.state is AgentState.SUSPENDED,
            "health": [
                (instance, health)
                for instance in instances
                for health in instance.health
                if health.agent == agent.name and agent.name in instance.serves
            ],
            "version": agent_version(agent, limit),
        }
        for agent in found
    ]
    return await console.page(request, client, "agents.html", {"rows": rows})


def agent_version(agent: AgentStatus, limit: LimitStatus | None) -> str:
    """The version of what a form on an Agent was decided on."""
    return listed_version(
        [agent.state, agent.suspended_at, limit and limit.concurrency, limit and limit.rate, limit and limit.set_at]
    )


def agent_tone(agent: AgentStatus) -> str:
    """The tone in which an Agent's state is shown."""
    if agent.state is AgentState.OK:
        return "good"
    return "held" if agent.state is AgentState.SUSPENDED else "bad"
