"""``replay``: the recorded histories of a store or an archive, replayed by the code of an application."""

from __future__ import annotations

import asyncio
from itertools import islice
from pathlib import Path

import click
from msgspec import to_builtins
from rich.text import Text

from stepward.app import App
from stepward.cli.exit_codes import FAILED, Silent
from stepward.cli.input.operator_store import json_option, operator_client
from stepward.cli.input.targets import load_app
from stepward.cli.output.json_output import print_json
from stepward.cli.output.terminal import screen
from stepward.encryption import codec_of
from stepward.errors import Refused
from stepward.replaying.histories import archived, stored
from stepward.replaying.report import Finding, ReplayReport
from stepward.views.printable import clean


@click.command("replay", epilog="Keys under --json: replayed, findings.")
@click.argument("target", metavar="APP")
@click.option("--workflow", metavar="W", help="Only tasks of that workflow.")
@click.option("--where", metavar="FILTER", help="Only tasks that match the filter: \"created > '30d ago'\".")
@click.option("--from", "place", metavar="STORE|ARCHIVE", help="A store's address, or a file or folder of histories.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="At most so many tasks, the newest of a store.")
@json_option
def replay(
    target: str, workflow: str | None, where: str | None, place: str | None, limit: int | None, as_json: bool
) -> None:
    """Replay recorded tasks with the code of APP, and exit with 1 when some would stop because it does not fit.

    The tasks are those of APP's store unless --from names another, or an archive. Nothing is called and nothing is
    written. For continuous integration: run it before a changed workflow is deployed.
    """
    app = load_app(target)
    report = ReplayReport(app.registry)
    if place is None or "://" in place:
        asyncio.run(_replay_stored(app, place, workflow, where, limit, report))
    elif where is not None:
        raise Refused("--where: expected a store, found the archive that --from names; use --workflow, or leave it out")
    else:
        _replay_archived(app, Path(place), workflow, limit, report)
    if as_json:
        print_json(_fields(report))
    else:
        _print(report)
    if not report.is_fit:
        raise Silent(FAILED)


def _replay_archived(app: App, place: Path, workflow: str | None, limit: int | None, report: ReplayReport) -> None:
    codec = codec_of(app.name, app.settings.encryption)
    if codec is not None:
        asyncio.run(codec.load())
    for task, steps in islice(archived(place, workflow, codec), limit):
        report.add(task, steps)


async def _replay_stored(
    app: App, store: str | None, workflow: str | None, where: str | None, limit: int | None, report: ReplayReport
) -> None:
    settings = app.settings if store is None else app.settings.replaced({"store": store})
    async with operator_client(settings) as client:
        async for task, steps in stored(client, where, workflow):
            report.add(task, steps)
            if report.seen == limit:
                return


def _fields(report: ReplayReport) -> dict[str, object]:
    replayed = [
        {"workflow": workflow, "version": version, "tasks": number}
        for (workflow, version), number in sorted(report.replayed.items())
    ]
    return {"replayed": replayed, "findings": to_builtins(report.findings)}


def _print(report: ReplayReport) -> None:
    console = screen()
    for found in report.findings:
        style = "red" if found.stops else "yellow"
        console.print(Text(f"{'✗' if found.stops else '!'} {_heading(found)}", style=style), soft_wrap=True)
        console.print(Text(f"  {clean(found.message)}"), soft_wrap=True)
    stopped = sum(found.number for found in report.findings if found.stops)
    if stopped:
        console.print(
            Text(f"✗ {stopped:,} of {_tasks(report.seen)} would stop: see docs/changing-code.md.", style="red"),
            soft_wrap=True,
        )
    else:
        console.print(
            Text(f"✓ {_tasks(report.replayed.total())} replayed; the code fits them.", style="green"), soft_wrap=True
        )


def _heading(found: Finding) -> str:
    more = "…" if found.number > len(found.tasks) else ""
    return (
        f"{clean(found.workflow)} {clean(found.version)}: {_tasks(found.number)}: {clean(', '.join(found.tasks))}{more}"
    )


def _tasks(number: int) -> str:
    return f"{number:,} task{'' if number == 1 else 's'}"
