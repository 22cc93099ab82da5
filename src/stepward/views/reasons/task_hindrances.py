"""Reasons for which a task does not continue that its own row does not show: missing instances, and code that hung."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from stepward.client import Client, session_of
from stepward.client.agent_status import AgentState, is_silent
from stepward.model.records import Step, Task
from stepward.model.states import StepState
from stepward.payload import readable
from stepward.views.agents import state_of
from stepward.views.reasons import system_hindrances

HELD_UP = "held up"
OPEN = frozenset({StepState.NOT_STARTED, StepState.RUNNING, StepState.TO_REPEAT})


class Hindrance(Struct, frozen=True):
    """A reason why a task does not continue, with its label; ``see`` is the command that shows more."""

    label: str
    line: str
    see: tuple[str, ...] = ()


async def hindrances(client: Client, record: Task, steps: Sequence[Step]) -> list[Hindrance]:
    """The reasons why the task does not continue, except those that its steps show."""
    held_up = await _held_up(client, record, steps) if record.state in system_hindrances.LIVE else []
    return [*held_up, *await _hangs(client, record)]


async def _held_up(client: Client, record: Task, steps: Sequence[Step]) -> list[Hindrance]:
    instances, now = await client.instances(), session_of(client).store.now()
    at_work = [instance for instance in instances if instance.alive and not is_silent(instance, now)]
    unserved = system_hindrances.unserved_workflows([record], at_work)
    if unserved:
        return [Hindrance(HELD_UP, line) for line in unserved]
    wanted = {step.agent for step in steps if step.state in OPEN}
    agents = [agent for agent in await client.agents() if agent.name in wanted and agent.state is not AgentState.OK]
    return [Hindrance(HELD_UP, f"Agent {agent.name}: {state_of(agent, now)}", ("agents",)) for agent in agents]


async def _hangs(client: Client, record: Task) -> list[Hindrance]:
    if not record.hangs:
        return []
    hangs = [readable(audit.details) for audit in await client.audits(record.id) if audit.act == "hang"]
    places = [hang["at"] for hang in hangs if isinstance(hang, dict) and hang.get("at")]
    last = f", last at {places[0]}" if places else ""
    line = f"{record.hangs}: its code held up an event loop for a lease{last}"
    return [Hindrance("hangs", line, ("audit", record.id))]
