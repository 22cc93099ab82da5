"""``fork``: an ended task run again from one of its steps, as a new task."""

from __future__ import annotations

import click

from stepward.cli.input.arguments import json_value
from stepward.cli.input.completion_words import task_ids
from stepward.cli.input.operator_store import with_client
from stepward.client import Client, session_of
from stepward.errors import InvalidArguments
from stepward.store.partitions.single_or_partitioned import check_whole


@click.command("fork")
@click.argument("id", shell_complete=task_ids)
@click.option("--from", "step", metavar="STEP", required=True, help="The first step to run again: its key.")
@click.option("--id", "new_id", metavar="NEW_ID", help="The new task's id.")
@click.option("--args", "arguments", metavar="JSON", help="Other arguments of the workflow, an array.")
@click.option("--version", metavar="V", help="Another version of the workflow.")
@click.option("--undo-later", is_flag=True, help="First undo what task ID did from STEP on; else that is kept.")
@with_client
async def fork(
    client: Client,
    id: str,
    step: str,
    new_id: str | None,
    arguments: str | None,
    version: str | None,
    undo_later: bool,
) -> None:
    """Start a new task from the record of the ended task ID up to a step, and print its id."""
    args = None if arguments is None else json_value(arguments, "--args")
    if args is not None and not isinstance(args, list):
        raise InvalidArguments("--args: expected an array of the workflow's arguments, found another value; write […]")
    if new_id is not None:
        await check_whole(session_of(client).store)
    made = await client.task(id).fork(step, args=args, version=version, id=new_id, undo_later=undo_later)
    click.echo(made.id)
