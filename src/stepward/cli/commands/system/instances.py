"""``instances``: the live actors; ``drain``: the orderly end of one's process."""

from __future__ import annotations

import click

from stepward.cli.input.operator_store import json_option, with_client
from stepward.cli.output.json_output import keys, plain, print_json
from stepward.cli.output.table import Cell, Column
from stepward.cli.output.terminal import print_table, state_cell
from stepward.client import Client, session_of
from stepward.client.agent_status import is_apart, is_silent
from stepward.errors import StepwardError
from stepward.model.agents import AgentHealth
from stepward.model.records import Instance
from stepward.views.times import NOTHING, relative, span

CLOSED = "closed"
LEAST_AHEAD = 0.1
INSTANCE_COLUMNS = (
    Column(name="ID", least=14, middle=True),
    Column(name="STATE"),
    Column(name="HOST", least=6, middle=True),
    Column(name="PID", right=True),
    Column(name="AGE", right=True),
    Column(name="LEASE ENDS"),
    Column(name="CLOCK", right=True, spare=True, drops=1),
    Column(name="SERVES", least=8),
)


@click.command("instances", epilog=keys(Instance))
@json_option
@with_client
async def instances(client: Client, as_json: bool) -> None:
    """List the live actors, and those that ended or died within the hour."""
    found = sorted(await client.instances(), key=lambda instance: not instance.alive)
    if as_json:
        print_json([plain(instance) for instance in found])
        return
    now = session_of(client).store.now()
    print_table(INSTANCE_COLUMNS, [instance_row(each, now) for each in found], "No instances.")


@click.command("drain")
@click.argument("instance", metavar="INSTANCE")
@with_client
async def drain(client: Client, instance: str) -> None:
    """Have the process of an instance end in good order: it starts nothing, finishes what runs, gives its tasks back.

    It learns of it with its next heartbeat, and ends with exit code 0.
    """
    if not await client.drain_instance(instance):
        raise StepwardError(f"instance {instance}: expected one that does not drain, found it asked already")
    click.echo(f"instance {instance}: drains with its next heartbeat")


def instance_row(instance: Instance, now: float) -> list[Cell]:
    """An instance as a row of its table."""
    return [
        Cell(instance.id),
        _state(instance, now),
        Cell(instance.host),
        Cell(str(instance.pid)),
        Cell(span(now - instance.started_at), "dim"),
        Cell(relative(instance.expires_at, now) if instance.alive else NOTHING, "dim"),
        _clock(instance),
        _serves(instance),
    ]


def _state(instance: Instance, now: float) -> Cell:
    if is_silent(instance, now):
        return Cell(f"✗ silent since {span(now - instance.expires_at)}", "red")
    if instance.alive and instance.drain_at is not None:
        return Cell(f"drains since {span(now - instance.drain_at)}", "yellow")
    return state_cell("alive" if instance.alive else "ended" if instance.ended else "dead")


def _clock(instance: Instance) -> Cell:
    """How far its host's wall clock is ahead of the store's, or behind it."""
    if instance.ahead is None:
        return Cell(NOTHING, "dim")
    shown = f"{instance.ahead:+,.1f}s" if abs(instance.ahead) >= LEAST_AHEAD else "0"
    return Cell(shown, "yellow" if is_apart(instance) else "dim")


def _serves(instance: Instance) -> Cell:
    """What it serves; for Agents the slots in use, and a breaker that is not closed."""
    doing = {health.agent: _doing(health) for health in instance.health}
    beside = [each for each in instance.health if each.agent not in instance.serves and each.stuck]
    shown = [doing.get(name, name) for name in instance.serves] + [
        f"{each.agent}: {each.stuck} stuck" for each in beside
    ]
    return Cell(", ".join(shown), "dim")


def _doing(health: AgentHealth) -> str:
    breaker = "" if health.breaker == CLOSED else f" breaker {health.breaker.replace('_', ' ')}"
    stuck = f", {health.stuck} stuck" if health.stuck else ""
    return f"{health.agent} {health.in_flight}/{health.room}{breaker}{stuck}"
