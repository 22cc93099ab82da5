"""``schedules``: the recurring tasks, their next times, and their pauses."""

from __future__ import annotations

import click

from stepward.cli.input.operator_store import json_option, run_with_client, store_option, with_client
from stepward.cli.output.json_output import keys, plain, print_json
from stepward.cli.output.screen import print_table
from stepward.cli.output.table import Cell, Column
from stepward.client import Client, session_of
from stepward.errors import StepwardError
from stepward.model.records import Schedule
from stepward.views.times import full, relative

COLUMNS = (
    Column(name="NAME", least=10, middle=True),
    Column(name="WORKFLOW", least=10),
    Column(name="CRON", least=9),
    Column(name="TIMEZONE", least=3),
    Column(name="MISSED", spare=True),
    Column(name="LAST", right=True),
    Column(name="NEXT", least=8),
)
PAUSED = "paused"


@click.group("schedules", invoke_without_command=True, epilog=keys(Schedule))
@json_option
@store_option
@click.pass_context
def schedules(context: click.Context, as_json: bool, store: str | None) -> None:
    """List recurring tasks; `pause NAME`, `resume NAME`, `remove NAME`."""
    if context.invoked_subcommand is None:
        run_with_client(store, _list, as_json=as_json)


@schedules.command("pause")
@click.argument("name")
@with_client
async def pause(client: Client, name: str) -> None:
    """Stop firing a recurring task; times that pass meanwhile are skipped."""
    if not await client.pause_schedule(name):
        raise StepwardError(f"schedule {name}: expected one at work, found it paused already")
    click.echo(f"schedule {name}: paused")


@schedules.command("resume")
@click.argument("name")
@with_client
async def resume(client: Client, name: str) -> None:
    """Fire a paused recurring task again, beginning with its next nominal time."""
    if not await client.resume_schedule(name):
        raise StepwardError(f"schedule {name}: expected a paused one, found it at work")
    click.echo(f"schedule {name}: resumed")


@schedules.command("remove")
@click.argument("name")
@with_client
async def remove(client: Client, name: str) -> None:
    """Forget a recurring task that no application declares any more; the tasks that it made stay."""
    await client.remove_schedule(name)
    click.echo(f"schedule {name}: removed")


async def _list(client: Client, *, as_json: bool) -> None:
    found = await client.schedules()
    if as_json:
        print_json([plain(schedule) for schedule in found])
        return
    now = session_of(client).store.now()
    print_table(COLUMNS, [_row(schedule, now) for schedule in found], "No recurring tasks.")


def _row(schedule: Schedule, now: float) -> list[Cell]:
    paused = schedule.paused_at is not None
    style = "dim" if paused else ""
    return [
        Cell(schedule.name, style),
        Cell(schedule.workflow, style),
        Cell(schedule.cron, style),
        Cell(schedule.timezone, "dim"),
        Cell(schedule.catch_up, "dim"),
        Cell(relative(schedule.fired_at, now), "dim"),
        Cell(PAUSED, "yellow") if paused else Cell(full(schedule.next_at, now), style),
    ]
