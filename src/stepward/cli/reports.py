"""``instances``, ``agents``, ``audit``: who is at work, and who did what."""

from __future__ import annotations

from collections.abc import Sequence

import click
from msgspec import Struct, structs

from stepward.cli.operator import json_option, with_client
from stepward.cli.plain import keys, plain, print_json
from stepward.cli.screen import print_table, state_cell
from stepward.cli.table import Cell, Column
from stepward.cli.times import NOTHING, relative, span
from stepward.client import Client
from stepward.model.records import Audit, Instance, Role

INSTANCE_COLUMNS = (
    Column(name="ID", least=14, middle=True),
    Column(name="STATE"),
    Column(name="HOST", least=6, middle=True),
    Column(name="PID", right=True),
    Column(name="AGE", right=True),
    Column(name="LEASE ENDS"),
    Column(name="SERVES", least=8),
)
AGENT_COLUMNS = (
    Column(name="AGENT", least=10, middle=True),
    Column(name="INSTANCES", right=True),
    Column(name="CAPACITY", right=True),
    Column(name="HOSTS", least=10),
)
AUDIT_COLUMNS = (
    Column(name="AGE", right=True),
    Column(name="ACTOR", least=8, middle=True),
    Column(name="ACT"),
    Column(name="TASK", least=10, middle=True),
    Column(name="STEP", least=8, middle=True, spare=True),
    Column(name="CHANGE", least=10),
)


class AgentReport(Struct, frozen=True, kw_only=True):
    """What the live instances offer of one Agent."""

    name: str
    instances: int
    capacity: int
    hosts: list[str]


@click.command("instances", epilog=keys(Instance))
@json_option
@with_client
async def instances(client: Client, as_json: bool) -> None:
    """List the live actors, and those that died within the hour."""
    found = sorted(await client.instances(), key=lambda instance: not instance.alive)
    if as_json:
        print_json([plain(instance) for instance in found])
        return
    now = client.store.now()
    print_table(INSTANCE_COLUMNS, [instance_row(each, now) for each in found], "No instances.")


@click.command("agents", epilog=keys(AgentReport))
@json_option
@with_client
async def agents(client: Client, as_json: bool) -> None:
    """List the Agents that live instances offer."""
    found = _reports(await client.instances())
    if as_json:
        print_json([structs.asdict(report) for report in found])
        return
    rows = [
        [Cell(each.name), Cell(str(each.instances)), Cell(str(each.capacity)), Cell(", ".join(each.hosts), "dim")]
        for each in found
    ]
    print_table(AGENT_COLUMNS, rows, "No Agent is alive.")


@click.command("audit", epilog=keys(Audit))
@click.argument("id", required=False)
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="How many at most.")
@json_option
@with_client
async def audit(client: Client, id: str | None, limit: int, as_json: bool) -> None:
    """List who did what, to task ID or to all, newest first."""
    if id is not None:
        await client.record(id)
    found = await client.audits(id, limit)
    if as_json:
        print_json([plain(each) for each in found])
        return
    now = client.store.now()
    shown = [n for n, column in enumerate(AUDIT_COLUMNS) if id is None or column.name != "TASK"]
    rows = [[row[n] for n in shown] for row in (_audit_row(each, now) for each in found)]
    print_table([AUDIT_COLUMNS[n] for n in shown], rows, "No entries.")


def instance_row(instance: Instance, now: float) -> list[Cell]:
    """An instance as a row of its table."""
    return [
        Cell(instance.id),
        state_cell("alive" if instance.alive else "dead"),
        Cell(instance.host),
        Cell(str(instance.pid)),
        Cell(span(now - instance.started_at), "dim"),
        Cell(relative(instance.expires_at, now) if instance.alive else NOTHING, "dim"),
        Cell(", ".join(instance.serves), "dim"),
    ]


def _reports(instances: Sequence[Instance]) -> list[AgentReport]:
    rooms: dict[str, list[tuple[int, str]]] = {}
    for instance in instances:
        if instance.alive and instance.role is Role.AGENT:
            for name, _, room in (entry.rpartition(":") for entry in instance.serves):
                rooms.setdefault(name, []).append((int(room), instance.host))
    return [
        AgentReport(
            name=name,
            instances=len(found),
            capacity=sum(room for room, _ in found),
            hosts=sorted({host for _, host in found}),
        )
        for name, found in sorted(rooms.items())
    ]


def _audit_row(audit: Audit, now: float) -> list[Cell]:
    change = " → ".join(each for each in (audit.before, audit.after) if each)
    return [
        Cell(span(now - audit.at), "dim"),
        Cell(audit.actor),
        Cell(audit.act, "bold"),
        Cell(audit.task or NOTHING),
        Cell(audit.step or NOTHING),
        Cell(change if audit.details == b"{}" else f"{change} {audit.details.decode()}".strip()),
    ]
