"""The page Now, the first of the console: counts by state, what needs an operator, and what is late."""

from __future__ import annotations

from typing import Any

from litestar import get

from stepward.client import session_of
from stepward.client.agent_status import is_silent
from stepward.console.flow_chart import SECONDS, flow_chart, flow_since
from stepward.console.page_frame import PageRequest, PageResponse, SharedConsole
from stepward.console.pages.agents import agent_tone
from stepward.console.state_chart import RANGES, range_of, range_since, state_chart
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient
from stepward.model.states import TaskState
from stepward.views.agents import short_state_of

NEWEST_ALERTS = 5
REPLIES = "replies."
"""How the names of queues begin that a single reader takes from at its own pace."""


@get("/", permission=Permission.READ_ALL)
async def now_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """The overview of the whole store."""
    unscoped = client.unscoped
    overview = await console.overview(client)
    now = client.now()
    since = flow_since(now)
    operators = session_of(unscoped).store.operators
    flow = await operators.flow(since, SECONDS)
    chosen = range_of(request.query_params.get("range"))
    samples_since = range_since(chosen, now)
    samples = await operators.state_samples(samples_since, chosen.seconds)
    instances = await unscoped.instances()
    alive = [instance for instance in instances if instance.alive and not is_silent(instance, now)]
    states = {count.state: count for count in overview.states}
    values: dict[str, Any] = {
        "overview": overview,
        "in_error": states[TaskState.ERROR].count,
        "counts": [count for count in overview.states if count.state is not TaskState.ERROR],
        "chart": flow_chart(flow, since),
        "history": state_chart(samples, chosen, samples_since),
        "ranges": RANGES,
        "agents": [(agent, short_state_of(agent, now), agent_tone(agent)) for agent in await unscoped.agents()],
        "queues": [queue for queue in await operators.queues() if not queue.queue.startswith(REPLIES)],
        "alerts": await unscoped.alerts(NEWEST_ALERTS),
        "alive": alive,
        "gone": [instance for instance in instances if instance not in alive and not instance.ended],
    }
    return await console.page(request, client, "now.html", values)
