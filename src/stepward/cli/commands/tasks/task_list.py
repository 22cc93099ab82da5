"""``tasks``: one line per task."""

from __future__ import annotations

from typing import Any

import click

from stepward.cli.input.arguments import label as read_label
from stepward.cli.input.operator_store import json_option, with_client
from stepward.cli.output.json_output import keys, plain, print_json
from stepward.cli.output.screen import print_table, state_cell
from stepward.cli.output.table import Cell, Column
from stepward.client import Client, TaskStatus, session_of
from stepward.model.states import TaskState
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
@click.option("--state", type=click.Choice([state.value for state in TaskState]), help="Only such tasks.")
@click.option("--workflow", metavar="W", help="Only tasks of that workflow.")
@click.option("--label", metavar="K=V", help="Only tasks with that label.")
@click.option("--limit", type=click.IntRange(1, MOST), default=LIMIT, show_default=True, help="How many at most.")
@json_option
@with_client
async def tasks(
    client: Client, state: str | None, workflow: str | None, label: str | None, limit: int, as_json: bool
) -> None:
    """List tasks, newest first."""
    wanted = None if label is None else read_label(label)
    found = await client.tasks(state=state, workflow=workflow, label=wanted, limit=limit)
    if as_json:
        print_json([task_fields(task) for task in found])
        return
    now = session_of(client).store.now()
    print_table(COLUMNS, [_row(task, now) for task in found], "No such tasks.")
    if len(found) == limit:
        click.echo(f"The newest {limit:,}; --limit shows more.")


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
