"""``agents``: the state of each Agent, and the reason for which it gets no requests."""

from __future__ import annotations

import click

from stepward.cli.input.completion_words import agent_names
from stepward.cli.input.operator_store import json_option, run_with_client, store_option, with_client
from stepward.cli.output.json_output import keys, plain, print_json
from stepward.cli.output.table import Cell, Column
from stepward.cli.output.terminal import print_table
from stepward.client import AgentStatus, Client, session_of
from stepward.client.agent_status import AgentState
from stepward.durations import text
from stepward.errors import StepwardError
from stepward.model.agent_stats import AgentStats
from stepward.views.agents import percent, state_of
from stepward.views.times import span

COLUMNS = (
    Column(name="AGENT", least=10, middle=True),
    Column(name="STATE", least=9),
    Column(name="INSTANCES", right=True),
    Column(name="CAPACITY", right=True),
    Column(name="IN FLIGHT", right=True),
    Column(name="STUCK", right=True, spare=True, drops=1),
    Column(name="ASKED", right=True, spare=True),
    Column(name="OLDEST WAIT", right=True, spare=True, drops=3),
    Column(name="HOSTS", least=10, drops=2),
)
STATS_COLUMNS = (
    Column(name="AGENT", least=10, middle=True),
    Column(name="ATTEMPTS", right=True),
    Column(name="FAILED", right=True),
    Column(name="ERROR RATE", right=True),
    Column(name="P50", right=True),
    Column(name="P95", right=True),
)
STYLES = {AgentState.OK: "green", AgentState.SUSPENDED: "yellow"}


@click.group("agents", invoke_without_command=True, epilog=keys(AgentStatus))
@json_option
@store_option
@click.pass_context
def agents(context: click.Context, as_json: bool, store: str | None) -> None:
    """List Agents and their state; `suspend NAME`, `resume NAME`, `stats`."""
    if context.invoked_subcommand is None:
        run_with_client(store, _list, as_json=as_json)


@agents.command("suspend")
@click.argument("name", shell_complete=agent_names)
@click.option("--note", metavar="TEXT", help="The reason, shown beside the Agent.")
@with_client
async def suspend(client: Client, name: str, note: str | None) -> None:
    """Stop sending requests to an Agent: running calls end, steps wait, and no failure is counted."""
    if not await client.suspend_agent(name, note):
        raise StepwardError(f"Agent {name}: expected one at work, found it suspended already")
    click.echo(f"Agent {name}: suspended")


@agents.command("resume")
@click.argument("name", shell_complete=agent_names)
@with_client
async def resume(client: Client, name: str) -> None:
    """Send requests to a suspended Agent again, or to one whose breaker no live instance can close."""
    if not await client.resume_agent(name):
        is_open = any(agent.name == name and agent.state is AgentState.BREAKER_OPEN for agent in await client.agents())
        found = "its breaker open, which its instances close once the service is back" if is_open else "it at work"
        raise StepwardError(f"Agent {name}: expected a suspended one, found {found}")
    click.echo(f"Agent {name}: resumed")


@agents.command("stats", epilog=keys(AgentStats))
@json_option
@with_client
async def show_stats(client: Client, as_json: bool) -> None:
    """Show by Agent how attempts ended and how long they took, in the newest 1,000 tasks of the last hour."""
    found = await client.agent_stats()
    if as_json:
        print_json([plain(each) for each in found])
        return
    print_table(STATS_COLUMNS, [_stats_row(each) for each in found], "No attempt at an Agent ended within the hour.")


async def _list(client: Client, *, as_json: bool) -> None:
    found = await client.agents()
    if as_json:
        print_json([plain(agent) for agent in found])
        return
    now = session_of(client).store.now()
    print_table(COLUMNS, [_row(agent, now) for agent in found], "No Agent is alive.")


def _row(agent: AgentStatus, now: float) -> list[Cell]:
    return [
        Cell(agent.name),
        Cell(state_of(agent, now), STYLES.get(agent.state, "red")),
        Cell(str(agent.instances)),
        Cell(str(agent.capacity)),
        Cell(str(agent.in_flight)),
        Cell(str(agent.stuck), "red" if agent.stuck else "dim"),
        Cell(str(agent.asked), "dim"),
        Cell("" if agent.waiting_since is None else span(now - agent.waiting_since), "dim"),
        Cell(", ".join(agent.hosts), "dim"),
    ]


def _stats_row(found: AgentStats) -> list[Cell]:
    return [
        Cell(found.name),
        Cell(f"{found.attempts:,}"),
        Cell(f"{found.failed:,}", "red" if found.failed else "dim"),
        Cell(percent(found.error_rate), "red" if found.failed else "dim"),
        *[Cell("" if seconds is None else text(seconds)) for seconds in (found.p50_seconds, found.p95_seconds)],
    ]
