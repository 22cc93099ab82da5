"""The page of one task: its status, the cause, the timeline, and the possible next acts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from litestar import get
from msgspec import Struct

from stepward.client import Client, TaskStatus, session_of
from stepward.client.task_status import step_record
from stepward.console.page_frame import PageRequest, PageResponse, SharedConsole
from stepward.console.pages.task_live_values import TaskLiveValues, newest_history, read_live_values
from stepward.console.timeline.axis import axis_of
from stepward.console.timeline.layout import Timeline, drawn_timeline
from stepward.console.timeline.rows import timeline_rows
from stepward.http.access.permissions import Permission
from stepward.http.access.scopes.scoped_client import ScopedClient
from stepward.http.access.two_person import Proposal
from stepward.http.api.tasks.diagnosis import hidden_cause
from stepward.http.api.tasks.etags import version_of
from stepward.http.api.tasks.task_paths import PathId, task_id_of
from stepward.http.dependencies import RequestClient
from stepward.model.effects import child_id
from stepward.model.pipeline_plan import Plan
from stepward.model.records import Alert, Audit, InboxKind, Step, Task
from stepward.model.states import TASK_ENDS, StepKind
from stepward.model.tasks.forks import PROVENANCE
from stepward.model.tasks.stopped_tasks import is_stopped
from stepward.store.rules.directives.concerned_steps import is_live
from stepward.views.actions.acts_by_state import PossibleAct, possible_acts, taken_back
from stepward.views.actions.next_actions import next_actions
from stepward.views.actions.unchecked_choices import Choice
from stepward.views.forks import Forks, forks_of
from stepward.views.plan_graph import drawn
from stepward.views.reasons.cause import Cause, cause_of
from stepward.views.reasons.task_hindrances import Hindrance, hindrances
from stepward.views.relatives import Family, family
from stepward.views.steps import outcome_of
from stepward.views.tasks import failures_of, stage_of

AUDITS = 1_000
ALERTS = 1_000
STEPS_SHOWN = 100
"""Most steps that the table shows at once."""


class TaskView(Struct, frozen=True, kw_only=True):
    """All data of the page."""

    record: Task
    status: TaskStatus
    rows: list[Step]
    plan: Plan | None
    audits: list[Audit]
    alerts: list[Alert]
    actions: list[Choice]
    hindrances: list[Hindrance]
    relatives: Family
    forks: Forks
    signals: Counter[str]
    proposals: list[Proposal]
    live_values: TaskLiveValues


class StepLine(Struct, frozen=True, kw_only=True):
    """A row of the table of steps."""

    step: Step
    state: str
    outcome: str
    child: str | None
    can_fork: bool
    """Whether the ended task can be run again from this step."""


async def read_task(scoped: ScopedClient, id: str) -> TaskView:
    """Reads all data of the task; the read of its payloads is audited. Raises TaskNotFound."""
    found = await scoped.find(id)
    client, record = found.client, found.record
    session = session_of(client)
    status, rows = await found.handle.status(), await session.store.client.steps(record.id)
    return TaskView(
        record=record,
        status=status,
        rows=rows,
        plan=await session.plan(record.workflow, record.version),
        audits=await scoped.audits(record.id, AUDITS),
        alerts=await scoped.alerts(limit=ALERTS, id=record.id),
        actions=await next_actions(client, record, status, rows),
        hindrances=await hindrances(client, record, rows),
        relatives=await family(client, record, rows),
        forks=await forks_of(client, record, rows),
        signals=await _signals(client, record),
        proposals=[] if scoped.two_persons is None else await scoped.two_persons.proposals(record),
        live_values=await read_live_values(scoped, record.id),
    )


@get("/tasks/{task_id:str}", permission=Permission.READ)
async def task_page(
    request: PageRequest, client: RequestClient, console: SharedConsole, task_id: PathId
) -> PageResponse:
    """The page of one task."""
    view = await read_task(client, task_id_of(task_id))
    values = task_values(view, client.now(), request.query_params, payloads=client.principal.payloads)
    return await console.page(request, client, "task.html", values)


def task_values(view: TaskView, now: float, asked: Any, *, payloads: bool) -> dict[str, Any]:
    """The values of the template."""
    shown = view.rows if payloads else [_hidden(step) for step in view.rows]
    first = _number(asked.get("after"), len(shown))
    cause: Cause | None = cause_of(view.status, view.rows)
    acts: list[PossibleAct] = possible_acts(view.record, view.rows)
    offered = {action.directive.verb for action in view.actions if action.directive is not None}
    return {
        "task": view.record,
        "followed": view.record.id,
        "status": view.status,
        "stage": stage_of(view.status),
        "failures": failures_of(view.status, sum(step.failure_count for step in view.rows)),
        "cause": cause if payloads or cause is None else hidden_cause(cause, view.status),
        "lines": _lines(view.record, shown[first : first + STEPS_SHOWN], now),
        "step_count": len(shown),
        "first_step": first,
        "next_step": first + STEPS_SHOWN if first + STEPS_SHOWN < len(shown) else None,
        "timeline": _timeline(view, shown, now, asked),
        "alerts": view.alerts,
        "audits": view.audits[:100],
        "live_values": view.live_values,
        "history": newest_history(view.status, view.rows, view.audits),
        "actions": [(action, action.command(payloads=payloads)) for action in view.actions],
        "undo_meaning": taken_back(view.rows),
        "acts": [act for act in acts if act.verb not in offered],
        "hindrances": view.hindrances,
        "relatives": view.relatives,
        "forks": view.forks,
        "signals": view.signals.most_common(5),
        "proposals": view.proposals,
        "plan": _plan(view),
        "version": version_of(view.status),
        "is_over": view.record.state in TASK_ENDS,
        "deadline_used": _deadline_used(view.record, now),
    }


def _lines(record: Task, steps: Sequence[Step], now: float) -> list[StepLine]:
    stopped = is_stopped(record)
    found = [(step, step_record(step, record)) for step in steps]
    return [
        StepLine(
            step=step,
            state=str(shown.state),
            outcome=outcome_of(shown, now, waits=stopped),
            child=child_id(record, step) if step.kind is StepKind.CHILD else None,
            can_fork=record.state in TASK_ENDS and is_live(step, record.run) and step.key != PROVENANCE,
        )
        for step, shown in found
    ]


def _number(text: object, most: int) -> int:
    """The first row of the table of steps, from the query of the address."""
    return min(int(text), most) if isinstance(text, str) and text.isdecimal() and len(text) < 7 else 0


def _timeline(view: TaskView, steps: Sequence[Step], now: float, asked: Any) -> Timeline:
    opened = frozenset(str(asked.get("open") or "").split(","))
    record = view.record
    rows = timeline_rows(record, steps, view.audits, now, opened=opened)
    ended = record.finished_at if record.state in TASK_ENDS else None
    window = _window(asked)
    began = record.created_at if record.started_at is None else record.started_at
    axis = axis_of(rows, began, now if ended is None else ended, window=window)
    is_live = record.state not in TASK_ENDS
    return drawn_timeline(rows, axis, now=now if is_live else None, is_zoomed=window is not None)


def _window(asked: Any) -> tuple[float, float] | None:
    """The window of the timeline from the query of the address; None if it is not valid."""
    try:
        start, end = float(asked.get("from", "")), float(asked.get("to", ""))
    except ValueError:
        return None
    return (start, end) if 0 <= start < end < 1e11 else None


async def _signals(client: Client, record: Task) -> Counter[str]:
    """The signals that the workflow has not received yet, counted by name."""
    if record.state in TASK_ENDS:
        return Counter()
    untaken = await session_of(client).store.operators.outlived_inbox([record.uid], ("", 0))
    return Counter(row.name for row in untaken if row.kind is InboxKind.SIGNAL)


def _plan(view: TaskView) -> list[dict[str, Any]]:
    """The rows of the plan's graph, each with its stage's state."""
    if not view.plan:
        return []
    states = {step.key: step.state for step in view.rows}
    stages = {stage.stage: stage for stage in view.plan}
    graph = drawn({stage.stage: stage.waits_for for stage in view.plan})
    if graph is None:
        return [{"before": "", "after": "", "stage": stage, "state": states.get(stage.key)} for stage in view.plan]
    return [
        {
            "before": line.before,
            "after": line.after,
            "stage": None if line.stage is None else stages[line.stage],
            "state": None if line.stage is None else states.get(stages[line.stage].key),
        }
        for line in graph
    ]


def _hidden(step: Step) -> Step:
    """The step without text of persons or services."""
    return Step(
        **{
            name: getattr(step, name)
            for name in step.__struct_fields__
            if name not in ("input", "output", "error", "progress")
        }
    )


def _deadline_used(task: Task, now: float) -> float | None:
    """The share of the time until its deadline that a live task has used, 0 to 1."""
    if task.deadline is None or task.state in TASK_ENDS or task.deadline <= task.created_at:
        return None
    return min(1.0, max(0.0, (now - task.created_at) / (task.deadline - task.created_at)))
