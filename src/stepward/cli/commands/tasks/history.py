"""``history``: recorded tasks as lines of JSON, to be kept beside tests."""

from __future__ import annotations

import click

from stepward.cli.input.completion_words import task_ids
from stepward.cli.input.operator_store import with_client
from stepward.client import Client, session_of
from stepward.supervisor.archives.task_reader import history_line


@click.command("history")
@click.argument("ids", metavar="ID…", nargs=-1, required=True, shell_complete=task_ids)
@with_client
async def history(client: Client, ids: tuple[str, ...]) -> None:
    """Print tasks with all their steps as lines of JSON, in the archive's format, for `replay --from FILE.jsonl`."""
    session = session_of(client)
    for id in ids:
        task = await session.record(id)
        click.echo(history_line(task, await session.store.client.steps(task.id)), nl=False)
