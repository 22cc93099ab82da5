"""The start page: counts by state, what needs an operator, and what is late."""

from __future__ import annotations

from typing import Any

from litestar import get

from stepward.client import AgentStatus, session_of
from stepward.client.agents import AgentState, is_silent
from stepward.console.flow_chart import SECONDS, flow_chart, flow_since
from stepward.console.page_frame import PageRequest, PageResponse, SharedConsole
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient
from stepward.model.states import TaskState
from stepward.views.agents import state_of

NEWEST_ALERTS = 5


@get("/", permission=Permission.READ_ALL)
async def now_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """The overview of the whole store."""
    whole = client.unscoped
    overview = await console.overview(client)
    now = client.now()
    since = flow_since(now)
    flow = await session_of(whole).store.operators.flow(since, SECONDS)
    instances = await whole.instances()
    alive = [each for each in instances if each.alive and not is_silent(each, now)]
    states = {each.state: each for each in overview.states}
    values: dict[str, Any] = {
        "overview": overview,
        "in_error": states[TaskState.ERROR].count,
        "counts": [each for each in overview.states if each.state is not TaskState.ERROR],
        "chart": flow_chart(flow, since),
        "agents": [(agent, state_of(agent, now), agent_tone(agent)) for agent in await whole.agents()],
        "alerts": await whole.alerts(NEWEST_ALERTS),
        "alive": alive,
        "gone": [each for each in instances if each not in alive and not each.ended],
    }
    return await console.page(request, client, "now.html", values)


def agent_tone(agent: AgentStatus) -> str:
    """The tone in which an Agent's state is shown."""
    if agent.state is AgentState.OK:
        return "good"
    return "held" if agent.state is AgentState.SUSPENDED else "bad"
