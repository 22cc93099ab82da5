"""``alerts``: conditions that an operator must see, until one acknowledges them."""

from __future__ import annotations

import click

from stepward.cli.exit_codes import FAILED, Silent, complain
from stepward.cli.input.arguments import instant_or_duration
from stepward.cli.input.operator_store import json_option, run_with_client, store_option, with_client
from stepward.cli.output.json_output import keys, plain, print_json
from stepward.cli.output.table import Cell, Column
from stepward.cli.output.terminal import print_table
from stepward.client import Client, session_of
from stepward.errors import StepwardError
from stepward.model.alerts.alert_routing import ReportedSink
from stepward.model.alerts.silences import AlertSilence
from stepward.model.records import Alert
from stepward.views.alerts import message_of, subject_of
from stepward.views.times import NOTHING, clock, full, span

LIMIT = 100
GREATEST = 2**63 - 1

SEVERITY_STYLES = {"info": "dim", "warning": "yellow"}
NO_SINKS = "No sinks: no Supervisor has led yet."
SINK_COLUMNS = (Column(name="SINK"), Column(name="DELIVERS TO", least=16))
SILENCE_COLUMNS = (
    Column(name="KIND"),
    Column(name="WORKFLOW", least=10, middle=True),
    Column(name="UNTIL"),
    Column(name="SET BY"),
    Column(name="NOTE", least=16),
)
ALERT_COLUMNS = (
    Column(name="NO", right=True),
    Column(name="AGE", right=True),
    Column(name="SEVERITY"),
    Column(name="KIND"),
    Column(name="TASK", least=10, middle=True),
    Column(name="MESSAGE", least=16),
)


@click.group("alerts", invoke_without_command=True, epilog=keys(Alert))
@click.option("--all", "everything", is_flag=True, help="Include acknowledged alerts.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=LIMIT, show_default=True, help="Most entries to list.")
@json_option
@store_option
@click.pass_context
def alerts(context: click.Context, everything: bool, limit: int, as_json: bool, store: str | None) -> None:
    """List open alerts, newest first; `alerts acknowledge NUMBER` closes one."""
    if context.invoked_subcommand is None:
        run_with_client(store, _list, everything=everything, limit=limit, as_json=as_json)


@alerts.command("acknowledge")
@click.argument("numbers", metavar="NUMBER…", nargs=-1, required=True, type=click.IntRange(1, GREATEST))
@with_client
async def acknowledge(client: Client, numbers: tuple[int, ...]) -> None:
    """Mark alerts as seen; the audit records the operator."""
    missed = False
    for number in numbers:
        if await client.acknowledge(number):
            click.echo(f"alert {number}: acknowledged")
        else:
            missed = True
            complain(f"alert {number}: expected an open alert, found none such; look at `stepward alerts`")
    if missed:
        raise Silent(FAILED)


@alerts.command("sinks", epilog=keys(ReportedSink))
@json_option
@with_client
async def sinks(client: Client, as_json: bool) -> None:
    """List the sinks of the Supervisor that leads, and the alerts that each gets."""
    found = await client.alert_sinks.reported()
    if as_json:
        print_json([plain(sink) for sink in found])
        return
    print_table(SINK_COLUMNS, [[Cell(sink.name), Cell(sink.description)] for sink in found], NO_SINKS)


@alerts.command("silences", epilog=keys(AlertSilence))
@json_option
@with_client
async def silences(client: Client, as_json: bool) -> None:
    """List the kinds of alerts that no sink gets, and until when."""
    found = await client.alert_sinks.silences()
    if as_json:
        print_json([plain(silence) for silence in found])
        return
    now = session_of(client).store.now()
    print_table(SILENCE_COLUMNS, [_silence_row(silence, now) for silence in found], "No silences.")


@alerts.command("silence")
@click.argument("kind", metavar="KIND")
@click.option("--until", metavar="TIME", required=True, help="A duration from now (2h), or 2030-01-31T12:00:00Z.")
@click.option("--workflow", metavar="NAME", help="Alerts about this workflow alone.")
@click.option("--note", metavar="TEXT", help="The reason, shown beside it.")
@with_client
async def silence(client: Client, kind: str, until: str, workflow: str | None, note: str | None) -> None:
    """Have no sink get alerts of a kind until a time; then the sinks get what is still open."""
    by = instant_or_duration(until, "until") or 0.0
    found = await client.alert_sinks.silence(kind, by, workflow=workflow, note=note)
    click.echo(f"{_silenced(kind, workflow)}: silent until {clock(found.until)}")


@alerts.command("unsilence")
@click.argument("kind", metavar="KIND")
@click.option("--workflow", metavar="NAME", help="As the silence names it.")
@with_client
async def unsilence(client: Client, kind: str, workflow: str | None) -> None:
    """End a silence before its time: the sinks get what is still open."""
    if not await client.alert_sinks.unsilence(kind, workflow):
        raise StepwardError(
            f"{_silenced(kind, workflow)}: expected a silence, found none such; look at `stepward alerts silences`"
        )
    click.echo(f"{_silenced(kind, workflow)}: no longer silent")


@alerts.command("test")
@click.argument("name", metavar="SINK")
@with_client
async def test(client: Client, name: str) -> None:
    """Send a test to one sink, and wait for its answer; the audit records the operator."""
    try:
        receipt = await client.alert_sinks.test(name)
    except TimeoutError as error:
        complain(str(error))
        raise Silent(FAILED) from None
    if receipt.raised_at is not None:
        click.echo(f"sink {name}: took the test (alert {receipt.number})")
        return
    complain(f"sink {name}: expected it to take the test, found: {receipt.error}; the Supervisor tries again")
    raise Silent(FAILED)


async def _list(client: Client, *, everything: bool, limit: int, as_json: bool) -> None:
    found = await client.alerts(limit, open_only=not everything)
    if as_json:
        print_json([plain(alert) for alert in found])
        return
    now = session_of(client).store.now()
    print_table(ALERT_COLUMNS, [alert_row(alert, now) for alert in found], "No open alerts.")
    if any(alert.task_id for alert in found):
        click.echo("What to do about a task: stepward show ID")


def alert_row(alert: Alert, now: float) -> list[Cell]:
    """An alert as a row of its table."""
    style = "dim" if alert.acknowledged_at is not None else ""
    return [
        Cell(str(alert.number), style),
        Cell(span(now - alert.at), "dim"),
        Cell(str(alert.severity), style or SEVERITY_STYLES.get(str(alert.severity), "bold red")),
        Cell(alert.kind, style or "bold red"),
        Cell(subject_of(alert) or NOTHING, style),
        Cell(message_of(alert), style),
    ]


def _silence_row(silence: AlertSilence, now: float) -> list[Cell]:
    return [
        Cell(silence.kind),
        Cell(silence.workflow or "all"),
        Cell(full(silence.until, now)),
        Cell(silence.set_by, "dim"),
        Cell(silence.note or "", "dim"),
    ]


def _silenced(kind: str, workflow: str | None) -> str:
    return f"alerts {kind}" if workflow is None else f"alerts {kind} of {workflow}"
