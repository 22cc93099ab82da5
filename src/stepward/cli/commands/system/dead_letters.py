"""``dead-letters``: messages that could not be processed, until an operator puts them back or discards them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from msgspec import structs

from stepward.cli.commands.system.alerts import GREATEST
from stepward.cli.exit_codes import FAILED, Silent, complain
from stepward.cli.input.operator_store import json_option, run_with_client, store_option, with_client
from stepward.cli.output.json_output import keys, plain, print_json
from stepward.cli.output.table import Cell, Column
from stepward.cli.output.terminal import print_table
from stepward.client import Client, session_of
from stepward.model.records import DeadLetter
from stepward.payload.secret_values import redacted_text
from stepward.views.times import span

LIMIT = 100
NUMBERS = click.argument("numbers", metavar="NUMBER…", nargs=-1, required=True, type=click.IntRange(1, GREATEST))

COLUMNS = (
    Column(name="NO", right=True),
    Column(name="AGE", right=True),
    Column(name="QUEUE", least=10, middle=True),
    Column(name="TRIES", right=True),
    Column(name="REASON", least=16),
)


@click.group("dead-letters", invoke_without_command=True, epilog=keys(DeadLetter))
@click.option("--limit", type=click.IntRange(1, 10_000), default=LIMIT, show_default=True, help="Most entries to list.")
@json_option
@store_option
@click.pass_context
def dead_letters(context: click.Context, limit: int, as_json: bool, store: str | None) -> None:
    """List messages that could not be processed, newest first; `put-back NUMBER` and `discard NUMBER` act."""
    if context.invoked_subcommand is None:
        run_with_client(store, _list, limit=limit, as_json=as_json)


@dead_letters.command("put-back")
@NUMBERS
@with_client
async def put_back(client: Client, numbers: tuple[int, ...]) -> None:
    """Put dead letters back into their queues as new messages; the audit records the operator."""
    _print_each(numbers, await client.put_back(*numbers), "put back")


@dead_letters.command("discard")
@NUMBERS
@with_client
async def discard(client: Client, numbers: tuple[int, ...]) -> None:
    """Delete dead letters for good; the audit records the operator."""
    _print_each(numbers, await client.discard(*numbers), "thrown away")


def _print_each(numbers: Sequence[int], found: Sequence[int], done: str) -> None:
    for number in dict.fromkeys(numbers):
        if number in found:
            click.echo(f"dead letter {number}: {done}")
        else:
            complain(f"dead letter {number}: expected one in store, found none such; look at `stepward dead-letters`")
    if set(numbers) - set(found):
        raise Silent(FAILED)


async def _list(client: Client, *, limit: int, as_json: bool) -> None:
    found = await client.dead_letters(limit)
    if as_json:
        print_json([_fields(dead_letter) for dead_letter in found])
        return
    now = session_of(client).store.now()
    print_table(COLUMNS, [_row(dead_letter, now) for dead_letter in found], "No dead letters.")
    if len(found) == limit:
        click.echo(f"The newest {limit:,}; --limit shows more.")


def _fields(dead_letter: DeadLetter) -> dict[str, Any]:
    """The body for display; it may not be JSON, which may be why it is a dead letter."""
    text = redacted_text(dead_letter.body).decode(errors="backslashreplace")
    return plain(structs.replace(dead_letter, body=b"null")) | {"body": text}


def _row(dead_letter: DeadLetter, now: float) -> list[Cell]:
    return [
        Cell(str(dead_letter.number)),
        Cell(span(now - dead_letter.buried_at), "dim"),
        Cell(dead_letter.queue, "cyan"),
        Cell(str(dead_letter.tries), "dim"),
        Cell(dead_letter.reason, "red"),
    ]
