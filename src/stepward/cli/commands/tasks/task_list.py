"""``tasks``: one line per task."""

from __future__ import annotations

from typing import Any

import click

from stepward.cli.input.arguments import label as read_label
from stepward.cli.input.operator_store import json_option, with_client
from stepward.cli.output.json_output import keys, plain, print_json
from stepward.cli.output.table import Cell, Column
from stepward.cli.output.terminal import print_table, state_cell
from stepward.client import Client, TaskStatus, session_of
from stepward.model.states import TaskState
from stepward.store.contract import TaskCount
from stepward.views.tasks import note_of
from stepward.views.times import span

LIMIT = 50
MOST = 10_000
"""Fields that a listing does not have."""

COLUMNS = (
    Column(name="ID", least=14, middle=True),
    Column(name="WORKFLOW", least=8, middle=True),
    Column(name="STATE"),
    Column(name="FAILURES", right=True, spare=True),
    Column(name="AGE", right=True),
    Column(name="WAITS FOR / ERROR", least=12),
)


@click.command("tasks", epilog=keys(TaskStatus, without=("steps",), more=("steps_total",)))
@click.option("--state", type=click.Choice([state.value for state in TaskState]), help="Only tasks in that state.")
@click.option("--workflow", metavar="W", help="Only tasks of that workflow.")
@click.option("--label", metavar="K=V", help="Only tasks with that label.")
@click.option(
    "--where", metavar="FILTER", help="Only tasks that match the filter: \"state = 'error' and created > '2h ago'\"."
)
@click.option("--limit", type=click.IntRange(1, MOST), default=LIMIT, show_default=True, help="Most entries to list.")
@click.option("--cursor", metavar="C", help="Continue after the page with that cursor.")
@click.option("--oldest-first", is_flag=True, help="In the order of submission.")
@click.option("--count", "counts", is_flag=True, help="Print only the number of tasks.")
@json_option
@with_client
async def tasks(
    client: Client,
    state: str | None,
    workflow: str | None,
    label: str | None,
    where: str | None,
    limit: int,
    cursor: str | None,
    oldest_first: bool,
    counts: bool,
    as_json: bool,
) -> None:
    """List tasks, newest first."""
    wanted = None if label is None else read_label(label)
    if counts:
        _print_count(await client.count(state, workflow, wanted, where=where), as_json=as_json)
        return
    order = "oldest" if oldest_first else "newest"
    found = await client.tasks(state, workflow, wanted, limit, where=where, order=order, cursor=cursor)
    if as_json:
        print_json([task_fields(task) for task in found])
        if found.cursor is not None:
            click.echo(f"more with --cursor {found.cursor}", err=True)
        return
    now = session_of(client).store.now()
    print_table(COLUMNS, [_row(task, now) for task in found], "No such tasks.")
    if found.cursor is not None:
        click.echo(f"The {order} {len(found):,}; more with --cursor {found.cursor}")


def _print_count(count: TaskCount, *, as_json: bool) -> None:
    if as_json:
        print_json({"number": count.number, "is_exact": count.is_exact})
    else:
        click.echo(f"{count.number:,} tasks" if count.is_exact else f"about {count.number:,} tasks (estimated)")


def task_fields(task: TaskStatus) -> dict[str, Any]:
    """A listed task for programs."""
    fields = plain(task)
    return {"steps_total" if name == "steps" else name: value for name, value in fields.items()}


def _row(task: TaskStatus, now: float) -> list[Cell]:
    return [
        Cell(task.id),
        Cell(task.workflow, "cyan"),
        state_cell(task.state),
        Cell(str(task.failure_count), "yellow" if task.failure_count else "dim"),
        Cell(span(now - task.created_at), "dim"),
        Cell(note_of(task), "red" if task.state is TaskState.ERROR else ""),
    ]
