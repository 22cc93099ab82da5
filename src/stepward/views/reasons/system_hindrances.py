"""Reasons for which tasks do not continue: workflows, Agents and steps without a live instance, and open alerts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from stepward.client import AgentStatus, Client, session_of
from stepward.client.agent_status import AgentState, is_late, is_silent
from stepward.model.records import Alert, Instance, Role, Task
from stepward.model.states import TaskState
from stepward.store.contract import TaskSearch
from stepward.store.search.conditions import Comparison, Operator
from stepward.store.search.fields import SearchField
from stepward.views.times import span

LIVE = (TaskState.PENDING, TaskState.PROCESSING, TaskState.WAITING, TaskState.UNDOING)
MOST = 1_000
"""Most tasks of each state, and most alerts, that are examined."""


async def live_tasks(client: Client) -> list[Task]:
    """The newest tasks of each state that a Scheduler must advance."""
    found: list[Task] = []
    for state in LIVE:
        condition = Comparison(SearchField.STATE, Operator.EQUAL, state.value)
        found += (await session_of(client).store.operators.tasks(TaskSearch(condition=condition, limit=MOST))).tasks
    return found


def unserved_workflows(tasks: Iterable[Task], at_work: Sequence[Instance]) -> list[str]:
    """A line for each workflow with live tasks that no live Scheduler serves; one line if there is no Scheduler."""
    served = {entry for instance in at_work if instance.role is Role.SCHEDULER for entry in instance.serves}
    counts = Counter(f"{task.workflow}@{task.version}" for task in tasks)
    if counts and not any(instance.role is Role.SCHEDULER for instance in at_work):
        return [
            f"Schedulers: expected one at work for {_number(counts.total(), 'live task')}, found none; "
            "start one: stepward run APP"
        ]
    return [
        f"workflow {name}: expected a Scheduler that serves it, found none for {_number(count, 'live task')}; start one"
        for name, count in sorted(counts.items())
        if name not in served
    ]


def unserved_agents(agents: Iterable[AgentStatus]) -> list[str]:
    """A line for each Agent that steps wait for and that no instance serves."""
    return [
        f"Agent {agent.name}: expected an instance that offers it, found none for {_number(agent.asked, 'step')}; "
        "start one"
        for agent in agents
        if agent.state is AgentState.NO_INSTANCE and agent.asked
    ]


def silent_instances(instances: Iterable[Instance], now: float) -> list[str]:
    """A line for each instance that should have been declared dead, because its lease has been over for long."""
    return [
        f"instance {instance.id} (process {instance.pid} on {instance.host}): expected its lease renewed, "
        f"found it silent since {span(now - instance.expires_at)}, and no Supervisor that has declared it dead; "
        "see whether both run"
        for instance in instances
        if is_late(instance, now)
    ]


def late_leases(instances: Iterable[Instance], now: float) -> list[str]:
    """A line for each instance whose lease is just over: it renews it, or is declared dead in a moment."""
    return [
        f"instance {instance.id} (process {instance.pid} on {instance.host}): expected its lease renewed, "
        f"found it late by {span(now - instance.expires_at)}; look again"
        for instance in instances
        if is_silent(instance, now) and not is_late(instance, now)
    ]


def open_alerts(alerts: Sequence[Alert], now: float) -> list[str]:
    """One line for all open alerts."""
    if not alerts:
        return []
    kinds = ", ".join(f"{kind} × {count}" for kind, count in sorted(Counter(alert.kind for alert in alerts).items()))
    oldest = span(now - min(alert.at for alert in alerts))
    return [f"alerts: expected none open, found {kinds}, the oldest since {oldest}; see stepward alerts"]


def missing_supervisor(tasks: Sequence[Task], at_work: Iterable[Instance]) -> list[str]:
    """A line if tasks are live and there is no Supervisor."""
    if not tasks or any(instance.role is Role.SUPERVISOR for instance in at_work):
        return []
    return [
        "Supervisors: expected one at work, found none: steps that fail or run out of time are not handled; start one"
    ]


def _number(count: int, what: str) -> str:
    number = f"{count:,} or more" if count >= MOST else f"{count:,}"
    return f"{number} {what}{'' if count == 1 else 's'}"
