"""``steps``: every step of a task, in order."""

from __future__ import annotations

import click

from stepward.cli.input.completion_words import task_ids
from stepward.cli.input.operator_store import json_option, with_client
from stepward.cli.output.json_output import keys, plain, print_json
from stepward.cli.output.table import Cell, Column
from stepward.cli.output.terminal import print_table, state_cell
from stepward.client import Client, session_of
from stepward.client.task_status import StepRecord
from stepward.model.states import StepState
from stepward.model.tasks.stopped_tasks import is_stopped
from stepward.views.steps import LIVE, outcome_of
from stepward.views.times import NOTHING, relative, took

STEP_COLUMNS = (
    Column(name="KEY", least=12, middle=True),
    Column(name="STATE"),
    Column(name="ATTEMPT", right=True, spare=True, drops=2),
    Column(name="FAILURES", right=True, spare=True, drops=3),
    Column(name="TOOK", right=True),
    Column(name="COMPLETE BY", spare=True, drops=1),
    Column(name="RESULT / ERROR", least=12),
)


@click.command("steps", epilog=keys(StepRecord))
@click.argument("id", shell_complete=task_ids)
@json_option
@with_client
async def steps(client: Client, id: str, as_json: bool) -> None:
    """List the steps of task ID, with their payloads under --json."""
    record, found = await session_of(client).record(id), await client.task(id).steps()
    if as_json:
        print_json([plain(step) for step in found])
        return
    now = session_of(client).store.now()
    print_table(STEP_COLUMNS, [step_row(step, now, waits=is_stopped(record)) for step in found], "No steps yet.")


def step_row(step: StepRecord, now: float, *, waits: bool) -> list[Cell]:
    """A step as a row of its table; ``waits``: its task continues only with code that fits."""
    is_going_on = step.state in LIVE and not waits
    return [
        Cell(step.key if step.run == 1 else f"{step.run}: {step.key}"),
        state_cell(step.state),
        Cell(str(step.attempt), "" if step.attempt > 1 else "dim"),
        Cell(str(step.failure_count), "yellow" if step.failure_count else "dim"),
        Cell(took(step.started_at, step.finished_at, now) if is_going_on or step.finished_at else NOTHING, "dim"),
        Cell(relative(step.complete_by, now) if step.state in LIVE else NOTHING, "dim"),
        Cell(outcome_of(step, now, waits=waits), "red" if step.state is StepState.FAILED else ""),
    ]
