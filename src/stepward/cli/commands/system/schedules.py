"""``schedules``: the recurring tasks, their next times, and their pauses."""

from __future__ import annotations

from typing import Any

import click

from stepward.cli.input.arguments import json_value
from stepward.cli.input.completion_words import schedule_names
from stepward.cli.input.operator_store import json_option, run_with_client, store_option, with_client
from stepward.cli.output.json_output import keys, plain, print_json
from stepward.cli.output.table import Cell, Column
from stepward.cli.output.terminal import print_table
from stepward.client import Client, session_of
from stepward.errors import StepwardError
from stepward.model.schedule import Schedule
from stepward.model.schedule_overlap import Overlap
from stepward.schedules.nominal_times import CATCH_UPS
from stepward.store.partitions.single_or_partitioned import check_whole
from stepward.views.schedules import nominal
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
    """List recurring tasks; `create`, `trigger`, `backfill`, `pause`, `resume` and `remove` act on one."""
    if context.invoked_subcommand is None:
        run_with_client(store, _list, as_json=as_json)


@schedules.command("create")
@click.argument("name")
@click.argument("workflow")
@click.argument("arguments", metavar="JSON…", nargs=-1)
@click.option("--cron", metavar="CRON", help="Five fields: '0 2 * * *'.")
@click.option("--every", metavar="D", help="An interval in place of --cron: 15m.")
@click.option("--at", metavar="TIME", help="One time in place of --cron: 2027-01-15T09:00:00Z.")
@click.option("--timezone", metavar="ZONE", help="The time zone of --cron, such as Europe/Berlin; UTC by default.")
@click.option(
    "--overlap",
    type=click.Choice([each.value for each in Overlap]),
    help="What to do while the previous task is running; skip by default.",
)
@click.option("--jitter", metavar="D", help="Delay each start by a random time of at most this.")
@click.option("--start", metavar="TIME", help="No nominal time before this instant.")
@click.option("--end", metavar="TIME", help="No nominal time after this instant.")
@click.option("--catch-up", type=click.Choice(CATCH_UPS), help="What to do with missed nominal times; one by default.")
@click.option("--priority", type=click.IntRange(0, 9), help="0 to 9; 5 by default.")
@with_client
async def create(client: Client, name: str, workflow: str, arguments: tuple[str, ...], **options: Any) -> None:
    """Run WORKFLOW with the arguments JSON… at every nominal time, without a deploy."""
    await check_whole(session_of(client).store)
    given: Any = {key: value for key, value in options.items() if value is not None}
    schedule = await client.create_schedule(
        name, workflow, [json_value(text, "an argument") for text in arguments], **given
    )
    click.echo(f"schedule {name}: created, first {full(schedule.next_at, session_of(client).store.now())}")


@schedules.command("trigger")
@click.argument("name", shell_complete=schedule_names)
@with_client
async def trigger(client: Client, name: str) -> None:
    """Start a task of a recurring task now, beside its nominal times; its id is printed."""
    click.echo((await client.trigger_schedule(name)).id)


@schedules.command("backfill")
@click.argument("name", shell_complete=schedule_names)
@click.argument("start")
@click.argument("end")
@with_client
async def backfill(client: Client, name: str, start: str, end: str) -> None:
    """Start the tasks of the nominal times from START to END that have none; at most 1,000."""
    tasks = await client.backfill_schedule(name, start, end)
    click.echo(f"schedule {name}: {len(tasks):,} task{'' if len(tasks) == 1 else 's'} started")


@schedules.command("pause")
@click.argument("name", shell_complete=schedule_names)
@with_client
async def pause(client: Client, name: str) -> None:
    """Stop firing a recurring task; times that pass meanwhile are skipped."""
    if not await client.pause_schedule(name):
        raise StepwardError(f"schedule {name}: expected one at work, found it paused already")
    click.echo(f"schedule {name}: paused")


@schedules.command("resume")
@click.argument("name", shell_complete=schedule_names)
@with_client
async def resume(client: Client, name: str) -> None:
    """Fire a paused recurring task again, beginning with its next nominal time."""
    if not await client.resume_schedule(name):
        raise StepwardError(f"schedule {name}: expected a paused one, found it at work")
    click.echo(f"schedule {name}: resumed")


@schedules.command("remove")
@click.argument("name", shell_complete=schedule_names)
@with_client
async def remove(client: Client, name: str) -> None:
    """Remove a recurring task that no application declares any more; its tasks stay."""
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
        Cell(nominal(schedule.cron), style),
        Cell(schedule.timezone, "dim"),
        Cell(schedule.catch_up, "dim"),
        Cell(relative(schedule.fired_at, now), "dim"),
        Cell(PAUSED, "yellow") if paused else Cell(full(schedule.next_at, now), style),
    ]
