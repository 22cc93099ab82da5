"""``limit``: how much may run at once, and what does; limits are set and reset while everything runs."""

from __future__ import annotations

from typing import Any

import click

from stepward.cli.input.operator_store import json_option, run_with_client, store_option, with_client
from stepward.cli.output.json_output import keys, plain, print_json
from stepward.cli.output.table import Cell, Column
from stepward.cli.output.terminal import print_table
from stepward.client import Client, LimitStatus
from stepward.errors import StepwardError

COLUMNS = (
    Column(name="LIMIT", least=10, middle=True),
    Column(name="AT ONCE", right=True),
    Column(name="RATE", right=True),
    Column(name="IN USE", right=True),
    Column(name="LEASED", right=True, spare=True),
    Column(name="WAITING", right=True, spare=True),
    Column(name="LOST", right=True, spare=True, drops=1),
    Column(name="DECLARED", right=True),
    Column(name="SET BY", least=6, drops=2),
)
NONE = "none"


@click.group("limit", invoke_without_command=True, epilog=keys(LimitStatus))
@json_option
@store_option
@click.pass_context
def limit(context: click.Context, as_json: bool, store: str | None) -> None:
    """List limits and what runs under them; `set NAME`, `reset NAME`."""
    if context.invoked_subcommand is None:
        run_with_client(store, _list, as_json=as_json)


@limit.command("set")
@click.argument("name")
@click.option("--concurrency", metavar="N", help="How many may run at once, or `none`.")
@click.option("--rate", metavar="N/TIME", help="How many may start within a time, such as 50/s, or `none`.")
@click.option("--note", metavar="TEXT", help="The reason, shown beside the limit.")
@with_client
async def set_limit(client: Client, name: str, concurrency: str | None, rate: str | None, note: str | None) -> None:
    """Set a limit in place of what code declares: `agent:payments --concurrency 20 --rate 50/s`, `workflow:fulfil …`.

    What is not given stays as it is in force.
    """
    if concurrency is None and rate is None:
        raise click.UsageError("expected --concurrency or --rate, found neither; `none` stands for no bound")
    given: dict[str, Any] = {} if concurrency is None else {"concurrency": _count(concurrency)}
    given |= {} if rate is None else {"rate": None if rate == NONE else rate}
    await client.set_limit(name, **given, note=note)
    (found,) = [limit for limit in await client.limits() if limit.name == name]
    said = [f"{found.concurrency:,} at once"] if found.concurrency is not None else []
    said += [f"{found.rate} started"] if found.rate is not None else []
    click.echo(f"limit {name}: {' and '.join(said) or 'no bound'}")


@limit.command("reset")
@click.argument("name")
@with_client
async def reset(client: Client, name: str) -> None:
    """Let what code declares hold again."""
    if not await client.reset_limit(name):
        raise StepwardError(f"limit {name}: expected one that an operator has set, found none such")
    click.echo(f"limit {name}: as declared")


def _count(text: str) -> int | None:
    if text == NONE:
        return None
    if not text.isdecimal() or len(text) > 9:
        raise click.UsageError(f"--concurrency: expected a number or `none`, found {text[:60]!r}")
    return int(text)


async def _list(client: Client, *, as_json: bool) -> None:
    found = await client.limits()
    if as_json:
        print_json([plain(each) for each in found])
        return
    print_table(COLUMNS, [_row(each) for each in found], "No limits.")


def _row(found: LimitStatus) -> list[Cell]:
    declared = [f"{found.declared_concurrency:,}"] if found.declared_concurrency is not None else []
    declared += [found.declared_rate] if found.declared_rate is not None else []
    style = "" if found.set_at is None else "yellow"
    return [
        Cell(found.name),
        Cell(NONE if found.concurrency is None else f"{found.concurrency:,}", style),
        Cell(found.rate or NONE, style),
        Cell(f"{found.in_use:,}"),
        Cell(f"{found.leased:,}", "dim"),
        Cell(f"{found.waiting:,}", "dim"),
        Cell(f"{found.lost:,}", "yellow" if found.lost else "dim"),
        Cell(", ".join(declared) or NONE, "dim"),
        Cell("" if found.set_by is None else f"{found.set_by}{f': {found.note}' if found.note else ''}", "dim"),
    ]
