"""A Scheduler's turn as data: its changes flattened into parts, one array statement for each kind of row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import astuple, replace

from stepward.model.records import Step, Task
from stepward.model.states import TASK_ENDS
from stepward.store.contract import (
    ANSWER_SECONDS,
    TRIM_ROWS,
    AddedEvents,
    Change,
    Deliver,
    Dispatch,
    Finish,
    StepMove,
    TaskMove,
    Watch,
)
from stepward.store.postgres.engine.column_arrays import columns_of, event_columns
from stepward.store.postgres.hot.compact_rows import form_of
from stepward.store.rules.change_conflicts import NOT_AS_READ, REPORTED_BY_OTHERS, Missed
from stepward.store.rules.turn_rows import (
    answer_rows,
    check_move,
    held_tasks,
    local_submissions,
    move_values,
    planned_rows,
    step_rows,
    trim_rows,
    unusual,
)
from stepward.store.verbs.alerts_and_audit import alert_rows

ColumnValues = tuple[Any, ...]


class TurnPart(NamedTuple):
    """A query of the book with its parameters, and how many rows it must find; None: any."""

    query: str
    values: list[Any]
    rows: int | None
    reason: str


def parts_of(instance: str, changes: Sequence[Change], now: float) -> list[TurnPart]:
    """The parts in the order in which they apply. Raises Missed for what no row needs to be asked about."""
    local_submissions(instance, changes)
    born = [_as_born(task, change) for change in changes if (task := change.born) is not None]
    rare = unusual(changes)
    return [
        *_held(instance, changes),
        *_tasks(instance, changes),
        *_local_submissions(born),
        *_attributes(rare),
        *_planned(rare),
        *(part for query, rows in step_rows(changes, rare) for part in _part(query.name, rows, query.reason)),
        *_trims(rare, now),
        *_children(rare),
        *_events(rare, now),
        *_answers(rare),
        *_alerts(rare, now),
    ]


def overlap(changes: Sequence[Change]) -> bool:
    """Whether two parts touch one row: then they apply one after the other, and not within one statement."""
    if len({change.task for change in changes}) != len(changes):
        return True
    return any(change.attributes is not None or _touches_twice(change) for change in changes)


def _touches_twice(change: Change) -> bool:
    """Whether the change has two rows of one step."""
    steps: list[Step | Finish | Deliver | Dispatch | Watch | StepMove] = [*change.inserts, *change.finishes]
    steps += [*change.delivers, *change.dispatches, *change.watches, *change.step_moves, *change.fills]
    if change.plans and change.born is not None:
        # What a task is recorded with is there only after its own part.
        steps += planned_rows(change)
    return len(steps) > 1 and len({(step.task, step.run, step.key) for step in steps}) < len(steps)


def _part(query: str, rows: Sequence[ColumnValues], reason: str) -> list[TurnPart]:
    if not rows:
        return []
    form, columns = form_of(f"turn.{query}", rows)
    return [TurnPart(form, columns, len(rows), reason)]


def _held(instance: str, changes: Sequence[Change]) -> list[TurnPart]:
    tasks = sorted(held_tasks(changes))
    if not tasks:
        return []
    return [TurnPart("turn.held", [tasks, instance], len(tasks), f"the task is not held by {instance}")]


def _tasks(instance: str, changes: Sequence[Change]) -> list[TurnPart]:
    """Tasks are written before their steps, as the verbs that decide on steps lock the tasks first."""
    known = [change for change in changes if change.born is None]
    moves = sorted((*move_values(c.task, c.move), *_counts(c.status_events)) for c in known if c.move)
    touched = sorted((c for c in known if c.move is None and (c.status_events or c.complete_by)), key=lambda c: c.task)
    touches = [(c.task, *_counts(c.status_events), c.complete_by) for c in touched]
    parts = _part("move_task", moves, f"{NOT_AS_READ}, or another process has reported on it since")
    for part in parts:
        part.values.append(instance)
    return parts + _part("touch_task", touches, REPORTED_BY_OTHERS)


def _counts(events: AddedEvents | None) -> tuple[int | None, int | None]:
    """The number of events before and after the change; None: the change adds none."""
    return (None, None) if events is None else (events.before, events.before + len(events.bodies))


def _local_submissions(born: list[Task]) -> list[TurnPart]:
    rows = sorted((astuple(task) for task in born), key=lambda row: str(row[1]))
    return _part("insert_task", rows, "born: the id or uid exists")


def _attributes(changes: Sequence[Change]) -> list[TurnPart]:
    rows = sorted((change.task, change.attributes) for change in changes if change.attributes is not None)
    return _part("set_attributes", rows, "attributes: the task is gone")


def _planned(changes: Sequence[Change]) -> list[TurnPart]:
    rows = [astuple(step) for change in changes if change.plans for step in planned_rows(change)]
    return [part._replace(rows=None) for part in _part("insert_planned", rows, "")]


def _trims(changes: Sequence[Change], now: float) -> list[TurnPart]:
    rows = trim_rows(changes)
    if not rows:
        return []
    tasks, firsts, lasts, keeps = columns_of(rows)
    return [
        TurnPart("turn.trim_steps", [tasks, firsts, lasts, keeps, TRIM_ROWS], None, ""),
        TurnPart("turn.trim_signals", [tasks, lasts, TRIM_ROWS], None, ""),
        TurnPart("turn.trim_updates", [tasks, now - ANSWER_SECONDS, TRIM_ROWS], None, ""),
    ]


def _children(changes: Sequence[Change]) -> list[TurnPart]:
    rows = sorted((astuple(child) for change in changes for child in change.children), key=lambda row: str(row[0]))
    return [part._replace(rows=None) for part in _part("insert_child", rows, "")]


def _events(changes: Sequence[Change], now: float) -> list[TurnPart]:
    events = [row for c in changes if c.status_events is not None for row in c.status_events.rows()]
    return [TurnPart("status_events.put", event_columns(events, now), None, "")] if events else []


def _answers(changes: Sequence[Change]) -> list[TurnPart]:
    return [part._replace(rows=None) for part in _part("answer", answer_rows(changes), "")]


def _alerts(changes: Sequence[Change], now: float) -> list[TurnPart]:
    alerts = [alert for change in changes for alert in change.alerts]
    if not alerts:
        return []
    return [TurnPart("alerts_and_audit.insert_alert", columns_of(alert_rows(alerts, now)), None, "")]


def _as_born(task: Task, change: Change) -> Task:
    """The row of a task that is born claimed, as it stands at the end of its first turn."""
    if change.status_events is not None:
        if change.status_events.before != task.events:
            raise Missed(REPORTED_BY_OTHERS)
        task = replace(task, events=task.events + len(change.status_events.bodies))
    return _moved(task, change.move) if change.move is not None else task


def _moved(task: Task, move: TaskMove) -> Task:
    check_move(move)
    ends = move.after in TASK_ENDS
    if move.before is not task.state or ((ends or move.release) and move.inbox != task.inbox):
        raise Missed(NOT_AS_READ)
    return replace(
        task,
        state=move.after,
        locked_by=None if ends or move.release else task.locked_by,
        output=move.output,
        error=move.error,
        wake_at=move.wake_at,
        waits_for=move.waits_for,
        undo_to=move.undo_to,
        run=task.run if move.run is None else move.run,
        input=task.input if move.input is None else move.input,
        finished_at=move.at if ends else None,
        recovery_count=0 if move.progress else task.recovery_count,
        complete_by=move.complete_by,
    )
