"""``show``: one task with all details, and what can be done about it."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import click
from rich.box import ROUNDED
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from stepward.cli.commands.system.alerts import ALERT_COLUMNS, alert_row
from stepward.cli.commands.tasks.steps import STEP_COLUMNS, step_row
from stepward.cli.input.completion_words import task_ids
from stepward.cli.input.operator_store import command_line, json_option, with_client
from stepward.cli.output.json_output import keys, plain, print_json
from stepward.cli.output.terminal import print_table, screen, state_cell
from stepward.cli.output.text_width import cut_middle
from stepward.cli.task_view.failed_attempts import print_attempts, print_own_traceback
from stepward.cli.task_view.next_actions import print_advice
from stepward.cli.task_view.plan import plan_fields, print_plan
from stepward.cli.task_view.relatives import print_children
from stepward.client import Client, TaskStatus, session_of
from stepward.model.records import InboxKind, Task
from stepward.model.states import TASK_ENDS, TaskState
from stepward.model.tasks.stopped_tasks import is_stopped
from stepward.payload.secret_values import redacted_text
from stepward.views.actions.next_actions import next_actions
from stepward.views.forks import Forks, forks_of
from stepward.views.printable import clean
from stepward.views.reasons.task_hindrances import Hindrance, hindrances
from stepward.views.relatives import family
from stepward.views.tasks import failures_of, stage_of
from stepward.views.times import full, took

MOST_NAMES = 5
ALERTS = 1_000
OF_RECORD = ("input", "output", "reply_to", "events")
MORE = ("steps_total", *OF_RECORD, "plan", "waiting_signals", "forked_from", "forks", "steps", "open_alerts")
LABEL = 11
BESIDE_TITLE = 6
LONGEST_VALUE = 2_000
USUAL_PRIORITY = 5
OF_ATTEMPTS = frozenset({"attempt", "earlier", "expired", "failure", "failures", "traceback"})
"""Fields of a task's error that are shown below, with the step's attempts."""
OF_DOUBT = frozenset({"maybe_done"})
"""The same, where the error names the steps in doubt."""

ShownLines = list[tuple[str, Text | str]]
"""The lines of the header, each with its label."""


@click.command("show", epilog=keys(TaskStatus, without=("steps",), more=MORE))
@click.argument("id", shell_complete=task_ids)
@json_option
@with_client
async def show(client: Client, id: str, as_json: bool) -> None:
    """Show task ID: its state, plan, steps and open alerts, and what to do next."""
    record = await session_of(client).record(id)
    status, steps = await client.task(id).status(), await client.task(id).steps()
    plan = await session_of(client).plan(record.workflow, record.version)
    alerts = await client.alerts(ALERTS, id=id)
    signals = await _signals(client, record)
    if as_json:
        rows = await session_of(client).store.client.steps(id)
        forks = await forks_of(client, record, rows)
        more = {
            "forked_from": plain(forks.origin) if forks.origin else None,
            "forks": [plain(each) for each in forks.forks],
            "waiting_signals": dict(signals),
            "steps": [plain(step) for step in steps],
            "open_alerts": [plain(alert) for alert in alerts],
        }
        print_json(_fields(record, status) | {"plan": plan and plan_fields(plan, steps)} | more)
        return
    now, console = session_of(client).store.now(), screen()
    rows = await session_of(client).store.client.steps(id)
    relatives = await family(client, record, rows)
    attempts = sum(step.failure_count for step in rows)
    lines = (
        _lines(record, status, relatives.parent, now, attempts)
        + [_hindrance(each) for each in await hindrances(client, record, rows)]
        + _waiting(signals)
        + _forks(await forks_of(client, record, rows))
    )
    console.print(_header(lines, status, console.width))
    print_children(console, relatives.children)
    print_own_traceback(console, status.error)
    print_advice(console, await next_actions(client, record, status, rows))
    if plan:
        print_plan(plan, steps)
    if steps:
        print_table(STEP_COLUMNS, [step_row(step, now, waits=is_stopped(record)) for step in steps], "", title="Steps")
        print_attempts(console, steps)
    if alerts:
        print_table(ALERT_COLUMNS, [alert_row(alert, now) for alert in alerts], "", title="Open alerts")


def _hindrance(found: Hindrance) -> tuple[str, str]:
    see = f"; see {command_line(*found.see)}" if found.see else ""
    return found.label, f"{found.line}{see}"


async def _signals(client: Client, record: Task) -> Counter[str]:
    """By name, the signals that the workflow has not received yet: the first thousand or so."""
    untaken = (
        []
        if record.state in TASK_ENDS
        else await session_of(client).store.operators.outlived_inbox([record.uid], ("", 0))
    )
    return Counter(row.name for row in untaken if row.kind is InboxKind.SIGNAL)


def _waiting(signals: Counter[str]) -> ShownLines:
    shown = ", ".join(f"{name} × {count:,}" for name, count in signals.most_common(MOST_NAMES))
    more = "" if len(signals) <= MOST_NAMES else f", and {len(signals) - MOST_NAMES} other names"
    return [("signals", f"came and not taken yet: {shown}{more}")] if signals else []


def _forks(found: Forks) -> ShownLines:
    origin = (
        [] if found.origin is None else [("forked from", f"{found.origin.id}, from its step {found.origin.step} on")]
    )
    return [*origin, *(("fork", f"{each.id}, from {each.step} on") for each in found.forks)]


def _fields(record: Task, status: TaskStatus) -> dict[str, Any]:
    counts = {"steps_total": status.steps, "steps_done": status.steps_done}
    fields = {name: value for name, value in plain(status).items() if name != "steps"}
    more = {name: value for name, value in plain(record).items() if name in OF_RECORD}
    return fields | counts | more


def _header(lines: ShownLines, status: TaskStatus, width: int) -> Panel:
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


def _lines(record: Task, status: TaskStatus, parent: str | None, now: float, attempts: int) -> ShownLines:
    state = state_cell(status.state)
    lines: ShownLines = [
        ("state", Text.assemble((state.text, state.style), f"  {clean(stage_of(status))}")),
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
    return lines + _circumstances(record, status, parent, now, attempts) + _outcome(record, status)


def _circumstances(record: Task, status: TaskStatus, parent: str | None, now: float, attempts: int) -> ShownLines:
    lines: ShownLines = [("locked by", status.locked_by or "no Scheduler")]
    if status.complete_by is not None:
        lines.append(("complete by", full(status.complete_by, now)))
    if status.deadline is not None:
        lines.append(("deadline", full(status.deadline, now)))
    lines.append(("failures", failures_of(status, attempts)))
    if status.priority != USUAL_PRIORITY or status.fairness_key is not None:
        key = "" if status.fairness_key is None else f", in turn as {status.fairness_key}"
        lines.append(("priority", f"{status.priority}{key}"))
    if status.labels:
        lines.append(("labels", ", ".join(f"{name}={value}" for name, value in status.labels.items())))
    if record.reply_to is not None:
        lines.append(("reply to", f"{record.reply_to}, events sent: {record.events}"))
    if parent is not None:
        lines.append(("parent", f"{parent}, as its step {record.parent_step}"))
    return lines


def _outcome(record: Task, status: TaskStatus) -> ShownLines:
    result: ShownLines = [] if record.output is None else [("result", _shown(record.output))]
    if status.error is None:
        return result
    known = dict(status.error)
    title = f"{known.pop('type', 'error')}: {known.pop('message', '')}"
    hidden = OF_ATTEMPTS | OF_DOUBT if known.get("in_doubt") else OF_ATTEMPTS
    rest = {name: value for name, value in known.items() if value and name not in hidden}
    style = "red" if status.state is TaskState.ERROR else ""
    return [
        *result,
        ("error", Text(clean(title), style=style)),
        *((name.replace("_", " "), _text(value)) for name, value in rest.items()),
    ]


def _text(value: object) -> str:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shown(payload: bytes) -> str:
    text = redacted_text(payload).decode(errors="backslashreplace")
    return (
        text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}… ({len(payload):,} bytes; whole with --json)"
    )
