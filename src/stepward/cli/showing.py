"""``show``: one task whole, with what can be done about it."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.box import ROUNDED
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from stepward.cli.advice import print_advice
from stepward.cli.alerts import ALERT_COLUMNS, alert_row
from stepward.cli.cells import clean, cut_middle
from stepward.cli.operator import json_option, with_client
from stepward.cli.plain import keys, plain, print_json
from stepward.cli.plans import plan_fields, print_plan
from stepward.cli.screen import print_table, screen, state_cell
from stepward.cli.steps import STEP_COLUMNS, step_row
from stepward.cli.times import full, took
from stepward.client import Client, TaskStatus
from stepward.model.records import Task
from stepward.model.states import TaskState

ALERTS = 1_000
OF_RECORD = ("input", "output", "reply_to", "events")
MORE = ("steps_total", *OF_RECORD, "plan", "steps", "open_alerts")
LABEL = 11
BESIDE_TITLE = 6
LONGEST_VALUE = 2_000
USUAL_PRIORITY = 5

Lines = list[tuple[str, Text | str]]
"""What the header says, each under its label."""


@click.command("show", epilog=keys(TaskStatus, without=("steps",), more=MORE))
@click.argument("id")
@json_option
@with_client
async def show(client: Client, id: str, as_json: bool) -> None:
    """Show task ID: where it stands, its plan, its steps, its open alerts, and what to do next."""
    record = await client.record(id)
    status, steps = await client.task(id).status(), await client.task(id).steps()
    plan = await client.plan(record.workflow, record.version)
    alerts = [alert for alert in await client.alerts(ALERTS) if alert.task == record.uid]
    if as_json:
        more = {"steps": [plain(step) for step in steps], "open_alerts": [plain(alert) for alert in alerts]}
        print_json(_fields(record, status) | {"plan": plan and plan_fields(plan, steps)} | more)
        return
    now, console = client.store.now(), screen()
    console.print(_header(_lines(record, status, now), status, console.width))
    print_advice(console, record, status)
    if plan:
        print_plan(plan, steps)
    if steps:
        print_table(STEP_COLUMNS, [step_row(step, now) for step in steps], "", title="Steps")
    if alerts:
        print_table(ALERT_COLUMNS, [alert_row(alert, now) for alert in alerts], "", title="Open alerts")


def _fields(record: Task, status: TaskStatus) -> dict[str, Any]:
    counts = {"steps_total": status.steps, "steps_done": status.steps_done}
    fields = {name: value for name, value in plain(status).items() if name != "steps"}
    more = {name: value for name, value in plain(record).items() if name in OF_RECORD}
    return fields | counts | more


def _header(lines: Lines, status: TaskStatus, width: int) -> Panel:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=LABEL, no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for label, value in lines:
        grid.add_row(label, Text(clean(value)) if isinstance(value, str) else value)
    return Panel(
        grid,
        title=Text(cut_middle(status.id, width - BESIDE_TITLE), style="bold"),
        title_align="left",
        box=ROUNDED,
        width=width,
        border_style=state_cell(status.state).style,
    )


def _lines(record: Task, status: TaskStatus, now: float) -> Lines:
    state = state_cell(status.state)
    lines: Lines = [
        ("state", Text.assemble((state.text, state.style), f"  {_stage(status)}")),
        ("workflow", f"{status.workflow}@{status.version}"),
        ("arguments", _shown(record.input)),
        ("created", full(status.created_at, now)),
    ]
    if status.finished_at is not None:
        lines.append(
            ("ended", f"{full(status.finished_at, now)}, took {took(status.created_at, status.finished_at, now)}")
        )
    if len(status.id) > len("0" * 36):
        lines.insert(0, ("id", status.id))
    return lines + _circumstances(record, status, now) + _outcome(record, status)


def _stage(status: TaskStatus) -> str:
    waits = f", waits for {status.waits_for}" if status.state is TaskState.WAITING and status.waits_for else ""
    run = f", run {status.run}" if status.run > 1 else ""
    steps = f"{status.steps_done} of {status.steps} steps"
    done = steps if status.progress.total is None else f"{status.progress} stages"
    return clean(f"{done} done{run}{waits}")


def _circumstances(record: Task, status: TaskStatus, now: float) -> Lines:
    lines: Lines = [("locked by", status.locked_by or "nobody")]
    if status.complete_by is not None:
        lines.append(("complete by", full(status.complete_by, now)))
    lines.append(("failures", f"{status.failure_count}"))
    if status.priority != USUAL_PRIORITY or status.fairness_key is not None:
        key = "" if status.fairness_key is None else f", in turn as {status.fairness_key}"
        lines.append(("priority", f"{status.priority}{key}"))
    if status.labels:
        lines.append(("labels", ", ".join(f"{name}={value}" for name, value in status.labels.items())))
    if record.reply_to is not None:
        lines.append(("reply to", f"{record.reply_to}, events told: {record.events}"))
    if record.parent is not None:
        lines.append(("parent", f"{record.parent} {record.parent_step}"))
    return lines


def _outcome(record: Task, status: TaskStatus) -> Lines:
    result: Lines = [] if record.output is None else [("result", _shown(record.output))]
    if status.error is None:
        return result
    known = dict(status.error)
    title = f"{known.pop('type', 'error')}: {known.pop('message', '')}"
    rest = {name: value for name, value in known.items() if value}
    style = "red" if status.state is TaskState.ERROR else ""
    return [
        *result,
        ("error", Text(clean(title), style=style)),
        *((name, _text(value)) for name, value in rest.items()),
    ]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shown(payload: bytes) -> str:
    text = payload.decode()
    return (
        text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}… ({len(payload):,} bytes; whole with --json)"
    )
