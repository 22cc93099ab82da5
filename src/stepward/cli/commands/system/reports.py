"""``instances``, ``audit``: the live actors, and the acts of people and programs."""

from __future__ import annotations

import click

from stepward.cli.commands.system.audit_verification import verified
from stepward.cli.input.operator_store import json_option, with_client
from stepward.cli.output.json_output import keys, plain, print_json
from stepward.cli.output.screen import print_table, state_cell
from stepward.cli.output.table import Cell, Column
from stepward.client import Client, session_of
from stepward.client.agents import is_apart, is_silent
from stepward.model.agents import AgentHealth
from stepward.model.records import Audit, Instance
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
AUDIT_COLUMNS = (
    Column(name="AGE", right=True),
    Column(name="ACTOR", least=8, middle=True),
    Column(name="ACT"),
    Column(name="TASK", least=10, middle=True),
    Column(name="STEP", least=8, middle=True, spare=True),
    Column(name="CHANGE", least=10),
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


@click.command("audit", epilog=keys(Audit))
@click.argument("id", required=False)
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="How many at most.")
@click.option(
    "--verify", is_flag=True, help="Check the chain of hashes: it shows whether acts were changed or removed."
)
@json_option
@with_client
async def audit(client: Client, id: str | None, limit: int, verify: bool, as_json: bool) -> None:
    """List the acts of people and programs, on task ID or on all, newest first."""
    if verify:
        click.echo(await verified(session_of(client).store.operators))
        return
    if id is not None:
        await session_of(client).record(id)
    found = await client.audits(id, limit)
    if as_json:
        print_json([plain(each) for each in found])
        return
    now = session_of(client).store.now()
    shown = [n for n, column in enumerate(AUDIT_COLUMNS) if id is None or column.name != "TASK"]
    rows = [[row[n] for n in shown] for row in (_audit_row(each, now) for each in found)]
    print_table([AUDIT_COLUMNS[n] for n in shown], rows, "No entries.")


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


def _audit_row(audit: Audit, now: float) -> list[Cell]:
    change = " → ".join(each for each in (audit.before, audit.after) if each)
    return [
        Cell(span(now - audit.at), "dim"),
        Cell(audit.actor),
        Cell(audit.act, "bold"),
        Cell(audit.task_id or audit.task or NOTHING),
        Cell(audit.step or NOTHING),
        Cell(
            change if audit.details == b"{}" else f"{change} {audit.details.decode(errors='backslashreplace')}".strip()
        ),
    ]
