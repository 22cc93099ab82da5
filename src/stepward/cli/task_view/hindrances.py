"""Why a task does not go on, where its own row does not say: instances that are missing, and code that hung."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.cli.commands.system.agents import state_of
from stepward.cli.input.operator_store import command_line
from stepward.client import Client, session_of
from stepward.client.agents import AgentState, is_silent
from stepward.model.records import Step, Task
from stepward.model.states import StepState
from stepward.payload import readable
from stepward.views import standstill

OPEN = frozenset({StepState.NOT_STARTED, StepState.RUNNING, StepState.TO_REPEAT})


async def hindrances(client: Client, record: Task, steps: Sequence[Step]) -> list[tuple[str, str]]:
    """What keeps the task from going on, each under its label, except what its steps show already."""
    held_up = await _held_up(client, record, steps) if record.state in standstill.LIVE else []
    return [*(("held up", line) for line in held_up), *await _hangs(client, record)]


async def _held_up(client: Client, record: Task, steps: Sequence[Step]) -> list[str]:
    instances, now = await client.instances(), session_of(client).store.now()
    at_work = [each for each in instances if each.alive and not is_silent(each, now)]
    unserved = standstill.unserved([record], at_work)
    if unserved:
        return unserved
    wanted = {step.agent for step in steps if step.state in OPEN}
    agents = [agent for agent in await client.agents() if agent.name in wanted and agent.state is not AgentState.OK]
    return [f"Agent {agent.name}: {state_of(agent, now)}; see {command_line('agents')}" for agent in agents]


async def _hangs(client: Client, record: Task) -> list[tuple[str, str]]:
    if not record.hangs:
        return []
    told = [readable(each.details) for each in await client.audits(record.id) if each.act == "hang"]
    places = [each["at"] for each in told if isinstance(each, dict) and each.get("at")]
    last = f", last at {places[0]}" if places else ""
    see = command_line("audit", record.id)
    return [("hangs", f"{record.hangs}: its code held up an event loop for a lease{last}; see {see}")]
