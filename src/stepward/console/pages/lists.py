"""The lists of Agents, alerts, schedules, dead letters, instances and the audit, and the settings."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from litestar import get

from stepward.client import AgentStatus, LimitStatus, session_of
from stepward.client.agents import AgentState, is_apart, is_silent
from stepward.console.form_tokens import listed_version
from stepward.console.page_frame import PageRequest, PageResponse, SharedConsole
from stepward.console.pages.overview import agent_tone
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient
from stepward.model.alerts.alert_routing import TEST_KIND, severity_of
from stepward.model.alerts.silences import AlertSilence
from stepward.model.limits.flow_limit import agent_limit
from stepward.model.records import Role
from stepward.views.agents import state_of
from stepward.views.alert_kinds import PAGES, meaning_of
from stepward.views.alerts import message_of, subject_of

LIMIT = 200


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


@get("/alerts", permission=Permission.READ)
async def alerts_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """Alerts, open ones first."""
    everything = request.query_params.get("all") == "1"
    found = await client.alerts(limit=LIMIT, open_only=not everything)
    ordered = sorted(found, key=lambda alert: (alert.acknowledged_at is not None, -alert.number))
    groups: dict[tuple[bool, str], list[dict[str, Any]]] = {}
    for alert in ordered:
        row = {
            "alert": alert,
            "subject": subject_of(alert),
            "message": message_of(alert),
            "page": PAGES.get(alert.kind),
        }
        groups.setdefault((alert.acknowledged_at is None, alert.kind), []).append(row)
    shown = [
        {
            "kind": kind,
            "is_open": is_open,
            "severity": severity_of(kind),
            "meaning": meaning_of(kind),
            "rows": rows,
            "workflows": sorted({row["alert"].workflow for row in rows} - {None}),
        }
        for (is_open, kind), rows in groups.items()
    ]
    values = {"groups": shown, "everything": everything, "sinks": await _sinks(client)}
    values["silences"] = await _silences(client)
    return await console.page(request, client, "alerts.html", values)


async def _silences(client: RequestClient) -> list[AlertSilence]:
    """The kinds of alerts that no sink gets; none for a principal who may not see all."""
    return await client.unscoped.alert_sinks.silences() if client.principal.may(Permission.READ_ALL) else []


async def _sinks(client: RequestClient) -> list[dict[str, Any]]:
    """The sinks, each with the answer to the newest test; none for a principal who may not see all."""
    if not client.principal.may(Permission.READ_ALL):
        return []
    operators = session_of(client.unscoped).store.operators
    sinks = await operators.alert_sinks()
    tests = [alert.number for alert in await operators.alerts(LIMIT, open_only=False) if alert.kind == TEST_KIND]
    answers = {receipt.sink: receipt for receipt in await operators.alert_receipts(tests)}
    return [{"sink": sink, "answer": answers.get(sink.name)} for sink in sinks]


@get("/schedules", permission=Permission.READ)
async def schedules_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """The schedules."""
    return await console.page(request, client, "schedules.html", {"schedules": await client.schedules()})


@get("/dead-letters", permission=Permission.READ_ALL)
async def dead_letters_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """Messages that could not be processed."""
    found = await client.dead_letters(LIMIT)
    return await console.page(request, client, "dead_letters.html", {"letters": found, "limit": LIMIT})


@get("/instances", permission=Permission.READ_ALL)
async def instances_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """The live instances, and those that died recently."""
    now = client.now()
    overview = await console.overview(client)
    found = sorted(
        await client.unscoped.instances(), key=lambda instance: (not instance.alive, instance.role, instance.id)
    )
    rows = [
        {
            "instance": instance,
            "silent": is_silent(instance, now),
            "drains": instance.alive and instance.drain_at is not None,
            "state": "alive" if instance.alive else "ended" if instance.ended else "dead",
            "leads": instance.id == overview.leader,
            "apart": is_apart(instance),
        }
        for instance in found
    ]
    return await console.page(request, client, "instances.html", {"rows": rows})


@get("/audit", permission=Permission.READ_ALL)
async def audit_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """The audit, newest first."""
    found = await client.all_audits(LIMIT)
    return await console.page(request, client, "audit.html", {"audits": found, "limit": LIMIT})


@get("/settings", permission=Permission.SIGNED_IN)
async def settings_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """The principal, and the versions of workflows that are served."""
    return await console.page(request, client, "settings.html", await settings_values(client))


async def settings_values(client: Any) -> dict[str, Any]:
    """The principal, the versions that are served, and whether they differ."""
    principal = client.principal
    may_all = principal.may(Permission.READ_ALL)
    instances = await client.unscoped.instances() if may_all else []
    served: dict[str, int] = {}
    for instance in instances:
        if instance.alive and instance.role is Role.SCHEDULER:
            for name in instance.serves:
                served[name] = served.get(name, 0) + 1
    allowed = [
        permission.value
        for permission in Permission
        if principal.may(permission) and permission is not Permission.PUBLIC
    ]
    return {"stepward_version": version("stepward"), "served": sorted(served.items()), "allowed": allowed}
