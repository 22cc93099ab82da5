"""``batch``: acts on every task that a filter finds, at a rate, with pause and stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import click

from stepward.cli.input.arguments import instant_or_duration, json_value
from stepward.cli.input.operator_store import command_line, json_option, run_with_client, store_option, with_client
from stepward.cli.output.json_output import keys, plain, print_json
from stepward.cli.output.table import Cell, Column
from stepward.cli.output.terminal import print_table, state_cell
from stepward.client import UNSET, BatchPreview, Client, session_of
from stepward.client.batches.batches import RATE
from stepward.errors import Refused
from stepward.store.contract import BATCH_ENDS, Batch, BatchState, BatchVerb
from stepward.views.batches import asked_of, counted, progress_of
from stepward.views.times import span

LIMIT = 50
LOOK_SECONDS = 0.5
COLUMNS = (
    Column(name="ID", least=12, middle=True),
    Column(name="ACT"),
    Column(name="STATE"),
    Column(name="DONE", right=True),
    Column(name="REFUSED", right=True),
    Column(name="OF", right=True),
    Column(name="RATE", right=True, spare=True),
    Column(name="AGE", right=True),
    Column(name="FILTER", least=12),
)
SAMPLE = (
    Column(name="ID", least=14, middle=True),
    Column(name="STATE"),
    Column(name="WOULD", least=20),
)
ACT = click.argument("verb", type=click.Choice([verb.value for verb in BatchVerb]))
BATCH_ID = click.argument("id", metavar="ID")
WATCH = click.option("--watch", is_flag=True, help="Follow it until it ends.")


def _act_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of the act, which are the same for every task."""
    for option in (
        click.option("--priority", type=int, metavar="N", help="The tasks' priority from then on, 0 to 9."),
        click.option("--complete-by", metavar="D", help="A new end: 15m from the act on each task, or an instant."),
        click.option("--later", type=click.Choice(["undo", "keep"]), help="As with resubmit."),
        click.option("--doubt", type=click.Choice(["undo", "did_not_happen"]), help="Settles attempts in doubt."),
        click.option("--result", metavar="JSON", help="mark_done: the result to record."),
        click.option("--input", "edited", metavar="JSON", help="The array of arguments to repeat the step with."),
        click.option("--step", metavar="KEY", help="The step; else the one that failed."),
        click.option("--where", metavar="FILTER", required=True, help="The tasks, as in `stepward tasks --where`."),
    ):
        command = option(command)
    return command


@click.group("batch", invoke_without_command=True, epilog=keys(Batch))
@json_option
@store_option
@click.pass_context
def batch(context: click.Context, as_json: bool, store: str | None) -> None:
    """List acts in bulk; `preview`, `start`, `show`, `pause`, `resume`, `stop`, `pace`."""
    if context.invoked_subcommand is None:
        run_with_client(store, _list, as_json=as_json)


@batch.command("preview")
@ACT
@_act_options
@with_client
async def preview(client: Client, verb: str, where: str, **said: Any) -> None:
    """Count the tasks, and show what the act would do to the first of them; change nothing."""
    _show_preview(await client.batches.preview(verb, where, **_parameters(said)))


@batch.command("start")
@ACT
@_act_options
@click.option("--rate", type=float, default=RATE, show_default=True, help="Most tasks a second.")
@click.option("--reason", metavar="TEXT", help="The reason, for the audit.")
@click.option("--yes", "confirmed", type=int, metavar="N", help="The number of tasks, to confirm without a prompt.")
@WATCH
@with_client
async def start(
    client: Client,
    verb: str,
    where: str,
    rate: float,
    reason: str | None,
    confirmed: int | None,
    watch: bool,
    **said: Any,
) -> None:
    """Send the directive to every task that the filter finds, after a preview."""
    found = await client.batches.preview(verb, where, **_parameters(said))
    await start_previewed(client, found, rate=rate, reason=reason, confirmed=confirmed, watch=watch)


@batch.command("show", epilog=keys(Batch))
@BATCH_ID
@WATCH
@json_option
@with_client
async def show(client: Client, id: str, watch: bool, as_json: bool) -> None:
    """Show a batch, its progress, and the tasks that refused."""
    found = await client.batches.get(id)
    if as_json:
        print_json(plain(found))
        return
    if watch:
        found = await watched(client, id)
    for line in _described(found):
        click.echo(line)


@batch.command("pause")
@BATCH_ID
@with_client
async def pause(client: Client, id: str) -> None:
    """Start no further act until `resume`."""
    _print_progress(await client.batches.pause(id))


@batch.command("resume")
@BATCH_ID
@with_client
async def resume(client: Client, id: str) -> None:
    """Continue a paused batch."""
    _print_progress(await client.batches.resume(id))


@batch.command("stop")
@BATCH_ID
@with_client
async def stop(client: Client, id: str) -> None:
    """End a batch; acts that were carried out stay."""
    _print_progress(await client.batches.stop(id))


@batch.command("pace")
@BATCH_ID
@click.argument("rate", type=float)
@with_client
async def pace(client: Client, id: str, rate: float) -> None:
    """Continue at another RATE, in tasks a second."""
    _print_progress(await client.batches.pace(id, rate))


async def start_previewed(
    client: Client, found: BatchPreview, *, rate: float, reason: str | None, confirmed: int | None, watch: bool
) -> None:
    """Show a preview, and start its batch once the number of tasks is given."""
    _show_preview(found)
    if not found.count.number:
        return
    _confirm(found, confirmed)
    started = await client.batches.start(found, rate=rate, reason=reason)
    click.echo(f"batch {started.id}: started; {command_line('batch', 'show', started.id, '--watch')}")
    if watch:
        await watched(client, started.id)


async def watched(client: Client, id: str) -> Batch:
    """The batch once it has ended or is paused; lines tell how far it is meanwhile."""
    last = ""
    while True:
        found = await client.batches.get(id)
        if (line := progress_of(found)) != last:
            click.echo(line)
            last = line
        if found.state in BATCH_ENDS or found.state is BatchState.PAUSED:
            return found
        await asyncio.sleep(LOOK_SECONDS)


def _parameters(said: dict[str, Any]) -> dict[str, Any]:
    edited, result = said.pop("edited"), said.pop("result")
    return said | {
        "complete_by": instant_or_duration(said["complete_by"]),
        "input": UNSET if edited is None else json_value(edited, "--input"),
        "result": UNSET if result is None else json_value(result, "--result"),
    }


def _show_preview(found: BatchPreview) -> None:
    click.echo(f"{found.order.verb}: {counted(found.count.number, found.count.is_exact)}")
    rows = [
        [Cell(each.id), state_cell(each.state), Cell(each.refusal or "take it", "red" if each.refusal else "")]
        for each in found.sample
    ]
    print_table(SAMPLE, rows, "No such tasks.")


def _confirm(found: BatchPreview, confirmed: int | None) -> None:
    if not found.needs_confirmation and confirmed is None:
        return
    number = found.count.number
    typed = confirmed if confirmed is not None else click.prompt(f"Type {number} to confirm", type=int)
    if typed != number:
        raise Refused(f"--yes: expected the number of tasks, {number:,}, found {typed:,}; nothing was started")


def _print_progress(found: Batch) -> None:
    click.echo(progress_of(found))


async def _list(client: Client, *, as_json: bool) -> None:
    found = await client.batches.recent(LIMIT)
    if as_json:
        print_json([plain(each) for each in found])
        return
    now = session_of(client).store.now()
    print_table(COLUMNS, [_row(each, now) for each in found], "No batches.")


def _row(found: Batch, now: float) -> list[Cell]:
    return [
        Cell(found.id),
        Cell(found.verb.value, "cyan"),
        Cell(found.state.value),
        Cell(f"{found.done:,}"),
        Cell(f"{found.refused:,}", "red" if found.refused else "dim"),
        Cell(f"{'' if found.is_exact else '~'}{found.matched:,}"),
        Cell(f"{found.rate:g}/s", "dim"),
        Cell(span(now - found.created_at), "dim"),
        Cell(found.filter),
    ]


def _described(found: Batch) -> list[str]:
    lines = [progress_of(found), f"  {asked_of(found)}", f"  by {found.actor}"]
    if found.reason is not None:
        lines.append(f"  because {found.reason}")
    return lines + [f"  refused: {each.task}: {each.why}" for each in found.refusals]
