"""A Scheduler's turn as data: its changes flattened into parts, one array statement for each kind of row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import astuple, replace

from stepward.model.plan import planned_steps
from stepward.model.records import Step, Task
from stepward.model.states import STEP_MOVES, TASK_ENDS, TASK_MOVES
from stepward.store.contract import TRIM_ROWS, Change, StepMove, TaskMove, Telling
from stepward.store.postgres.engine.columns import columns_of, event_columns
from stepward.store.postgres.hot.compact_rows import USUAL
from stepward.store.rules.changes import NOT_AS_READ, Missed, is_owners
from stepward.store.verbs.journal import alert_rows

ColumnValues = tuple[Any, ...]
RunStepKey = tuple[str, int, str]


class TurnPart(NamedTuple):
    """A query of the book with its parameters, and how many rows it must find; None: any."""

    query: str
    values: list[Any]
    rows: int | None
    reason: str


def parts_of(instance: str, changes: Sequence[Change], now: float) -> list[TurnPart]:
    """The parts in the order in which they apply. Raises Missed for what no row needs to be asked about."""
    born = [_as_born(change, instance) for change in changes if change.born is not None]
    parts = [
        *_held(instance, changes),
        *_tasks(instance, changes),
        *_local_submissions(born),
        *_planned(changes),
        *_steps(changes),
        *_taken(changes),
        *_trims(changes),
        *_children(changes),
        *_events(changes, now),
    ]
    alerts = [alert for change in changes for alert in change.alerts]
    if alerts:
        parts.append(TurnPart("journal.insert_alert", columns_of(alert_rows(alerts, now)), None, ""))
    return parts


def overlap(changes: Sequence[Change]) -> bool:
    """Whether two parts touch one row: then they apply one after the other, and not within one statement."""
    steps = [key for change in changes for key in _touched(change)]
    return len(set(steps)) != len(steps) or len({change.task for change in changes}) != len(changes)


def _touched(change: Change) -> list[RunStepKey]:
    keys = [(step.task, step.run, step.key) for step in change.inserts]
    keys += [(finish.task, finish.run, finish.key) for finish in change.finishes]
    for decisions in (change.delivers, change.dispatches, change.watches, change.step_moves):
        if decisions:
            keys += [(decision.task, decision.run, decision.key) for decision in decisions]
    for steps in (change.fills, _recorded(change) if change.plans and change.born is not None else ()):
        # What a task is recorded with is there only after its own part.
        if steps:
            keys += [(step.task, step.run, step.key) for step in steps]
    return keys


def _part(query: str, rows: Sequence[ColumnValues], reason: str) -> list[TurnPart]:
    if not rows:
        return []
    columns, usual = columns_of(rows), USUAL.get(query)
    if usual is not None and usual.fits(rows):
        return [TurnPart(f"turn.{query}_usual", usual.sent(columns), len(rows), reason)]
    return [TurnPart(f"turn.{query}", columns, len(rows), reason)]


def _held(instance: str, changes: Sequence[Change]) -> list[TurnPart]:
    tasks = sorted({change.task for change in changes if change.born is None and is_owners(change)})
    if not tasks:
        return []
    return [TurnPart("turn.held", [tasks, instance], len(tasks), f"the task is not held by {instance}")]


def _tasks(instance: str, changes: Sequence[Change]) -> list[TurnPart]:
    """Tasks are written before their steps, as whoever decides on steps locks the tasks first."""
    known = [change for change in changes if change.born is None]
    moves = sorted(_move_values(change.task, change.move, change.telling) for change in known if change.move)
    touched = sorted((c for c in known if c.move is None and (c.telling or c.complete_by)), key=lambda c: c.task)
    touches = [(c.task, *_counts(c.telling), c.complete_by) for c in touched]
    parts = _part("move_task", moves, f"{NOT_AS_READ}, or somebody else told of it since")
    for part in parts:
        part.values.append(instance)
    return parts + _part("touch_task", touches, "events: somebody else told of the task since it was read")


def _counts(events: Telling | None) -> tuple[int | None, int | None]:
    """How many events were told before, and are told now; None: the change tells nothing."""
    return (None, None) if events is None else (events.told, events.told + len(events.bodies))


def _local_submissions(born: list[Task]) -> list[TurnPart]:
    rows = sorted((astuple(task) for task in born), key=lambda row: str(row[1]))
    return _part("insert_task", rows, "born: the id or uid exists")


def _planned(changes: Sequence[Change]) -> list[TurnPart]:
    rows = [astuple(step) for change in changes if change.plans for step in _recorded(change)]
    return [part._replace(rows=None) for part in _part("insert_planned", rows, "")]


def _recorded(change: Change) -> list[Step]:
    plans = change.plans
    return [step for task in change.begun for step in planned_steps(task, plans.get((task.workflow, task.version), ()))]


def _steps(changes: Sequence[Change]) -> list[TurnPart]:
    return [part for query, reason, rows_of in STEPS for part in _part(query, rows_of(changes), reason)]


def _inserts(changes: Sequence[Change]) -> list[ColumnValues]:
    return [astuple(step) for change in changes for step in change.inserts]


def _fills(changes: Sequence[Change]) -> list[ColumnValues]:
    return [astuple(step) for change in changes for step in change.fills]


def _moves(changes: Sequence[Change]) -> list[ColumnValues]:
    return [_step_move_values(move) for change in changes for move in change.step_moves]


def _finishes(changes: Sequence[Change]) -> list[ColumnValues]:
    return [astuple(finish) for change in changes for finish in change.finishes]


def _delivers(changes: Sequence[Change]) -> list[ColumnValues]:
    return [astuple(deliver) for change in changes for deliver in change.delivers]


def _dispatches(changes: Sequence[Change]) -> list[ColumnValues]:
    return [astuple(dispatch) for change in changes for dispatch in change.dispatches]


def _watches(changes: Sequence[Change]) -> list[ColumnValues]:
    return [astuple(watch) for change in changes for watch in change.watches]


STEPS: list[tuple[str, str, Callable[[Sequence[Change]], list[ColumnValues]]]] = [
    ("insert_step", "insert: nothing was inserted", _inserts),
    ("fill_step", "fill: the step is not planned", _fills),
    # A step can be given up and answered in one turn: its late result is recorded on the abandoned row.
    ("move_step", "step move: the step is not in the state that it leaves", _moves),
    ("finish", "finish: the step is not running at that attempt", _finishes),
    ("deliver", "deliver: the step has no undelivered outcome", _delivers),
    ("dispatch", "dispatch: the step does not wait for that attempt", _dispatches),
    ("watch", "watch: the step is not running at that attempt", _watches),
]
"""What of a turn touches steps, in the order of its being applied."""


def _taken(changes: Sequence[Change]) -> list[TurnPart]:
    rows = [(number, change.task) for change in changes for number in change.taken]
    return _part("take_inbox", rows, "taken: an inbox row is gone")


def _trims(changes: Sequence[Change]) -> list[TurnPart]:
    rows = [(change.task, *astuple(change.trim)) for change in changes if change.trim is not None]
    if not rows:
        return []
    tasks, firsts, lasts, keeps = columns_of(rows)
    return [
        TurnPart("turn.trim_steps", [tasks, firsts, lasts, keeps, TRIM_ROWS], None, ""),
        TurnPart("turn.trim_signals", [tasks, lasts, TRIM_ROWS], None, ""),
    ]


def _children(changes: Sequence[Change]) -> list[TurnPart]:
    rows = sorted((astuple(child) for change in changes for child in change.children), key=lambda row: str(row[0]))
    return [part._replace(rows=None) for part in _part("insert_child", rows, "")]


def _events(changes: Sequence[Change], now: float) -> list[TurnPart]:
    events = [(c.telling.queue, body) for c in changes if c.telling is not None for body in c.telling.bodies]
    return [TurnPart("status_events.put", event_columns(events, now), None, "")] if events else []


def _step_move_values(move: StepMove) -> ColumnValues:
    if move.after not in STEP_MOVES[move.before]:
        raise Missed(f"step move: no step goes from {move.before} to {move.after}")
    return astuple(move)


def _move_values(task: str, move: TaskMove, events: Telling | None) -> ColumnValues:
    _check_move(move)
    ends = move.after in TASK_ENDS
    return (
        task,
        move.before,
        move.after,
        move.inbox,
        ends or move.release,
        move.output,
        move.error,
        move.wake_at,
        move.waits_for,
        move.undo_to,
        move.run,
        move.input,
        move.at if ends else None,
        move.progress,
        *_counts(events),
        move.complete_by,
    )


def _check_move(move: TaskMove) -> None:
    if move.after is not move.before and move.after not in TASK_MOVES[move.before]:
        raise Missed(f"move: no task goes from {move.before} to {move.after}")


def _as_born(change: Change, instance: str) -> Task:
    """The row of a task that is born claimed, as it stands at the end of its first turn."""
    task = change.born
    if task is None or task.locked_by != instance:
        raise Missed(f"born: expected a task locked by {instance}")
    if change.telling is not None:
        if change.telling.told != task.events:
            raise Missed("events: somebody else told of the task since it was read")
        task = replace(task, events=task.events + len(change.telling.bodies))
    return _moved(task, change.move) if change.move is not None else task


def _moved(task: Task, move: TaskMove) -> Task:
    _check_move(move)
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
