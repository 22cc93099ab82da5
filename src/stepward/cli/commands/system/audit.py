"""``audit``: the acts of people and programs, the check of their chain, and its head to be kept elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from stepward.cli.commands.system.audit_verification import verified
from stepward.cli.input.operator_store import json_option, with_client
from stepward.cli.output.json_output import keys, plain, print_json
from stepward.cli.output.table import Cell, Column
from stepward.cli.output.terminal import print_table
from stepward.client import Client, session_of
from stepward.errors import StepwardError
from stepward.model.records import Audit
from stepward.store.contract import AuditHead
from stepward.store.rules.audit.audit_verification import head_of
from stepward.supervisor.archives.line_writer import act_line, head_line
from stepward.views.times import NOTHING, span

LISTED = "list"
AUDIT_COLUMNS = (
    Column(name="AGE", right=True),
    Column(name="ACTOR", least=8, middle=True),
    Column(name="ACT"),
    Column(name="TASK", least=10, middle=True),
    Column(name="STEP", least=8, middle=True, spare=True),
    Column(name="CHANGE", least=10),
)


class AuditCommands(click.Group):
    """Commands of which ``list`` is meant where none is named first, so that ``audit ID`` lists a task's acts."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put in ``list`` where no command is named."""
        is_named = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if is_named else [LISTED, *args])


@click.group("audit", cls=AuditCommands, epilog=keys(Audit))
def audit() -> None:
    """List the acts of people and programs; `verify` checks them, `head` and `export` note them elsewhere."""


@audit.command(LISTED, epilog=keys(Audit))
@click.argument("id", required=False)
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Most entries to list.")
@json_option
@with_client
async def list_acts(client: Client, id: str | None, limit: int, as_json: bool) -> None:
    """List the acts on task ID or on all, newest first; `audit` alone does so too."""
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


@audit.command("verify")
@click.option("--anchor", "anchors", metavar="HEAD", multiple=True, help="What `audit head` printed; may be repeated.")
@click.option("--archive", type=click.Path(path_type=Path), help="Follow the archived acts in this folder too.")
@with_client
async def verify(client: Client, anchors: tuple[str, ...], archive: Path | None) -> None:
    """Check the chain of hashes: it shows whether acts were changed or removed.

    Removal of the newest acts is found only with an anchor that was kept elsewhere, or with the archive.
    """
    store = session_of(client).store.operators
    click.echo(await verified(store, [head_of(each) for each in anchors], archive))


@audit.command("head")
@with_client
async def head(client: Client) -> None:
    """Print the newest act as NUMBER:HASH, to be kept outside of the store, for `audit verify --anchor`."""
    newest = await session_of(client).store.operators.audit_head()
    if newest is None:
        raise StepwardError("audit: expected an act, found none yet; there is nothing to note")
    click.echo(str(newest))


@audit.command("export")
@with_client
async def export(client: Client) -> None:
    """Print all acts, oldest first, as lines of JSON with their hashes; the last line is the head."""
    store, after = session_of(client).store.operators, None
    while acts := await store.acts(0 if after is None else after.number):
        for act in acts:
            click.echo(act_line(act), nl=False)
        after = AuditHead(acts[-1].audit.number, acts[-1].hash)
    if after is not None:
        click.echo(head_line(after), nl=False)


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
