"""A Scheduler's turn on the rows: all its changes at once, or each alone when one does not apply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import apsw
import msgspec
from msgspec.structs import astuple

from stepward.model.records import Task
from stepward.model.states import STEP_MOVES, TASK_ENDS, TASK_MOVES
from stepward.store.contract import TRIM_ROWS, Change, StepMove, TaskMove
from stepward.store.queries import load_queries
from stepward.store.rules import refusals
from stepward.store.rules.changes import NOT_AS_READ, Missed, is_owners, why_missed
from stepward.store.sqlite.engine.connection import Connection, Values
from stepward.store.sqlite.engine.faults import DATA, detail
from stepward.store.sqlite.engine.parameters import FRAGMENTS
from stepward.store.sqlite.engine.query_catalogue import load_book
from stepward.store.sqlite.engine.verb_engine import driven
from stepward.store.sqlite.hot import planned_steps, status_events
from stepward.store.verbs import journal
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.tasks import inbox

Q = load_queries(__package__, "turn.sql", FRAGMENTS)


def check_alive(connection: Connection, instance: str) -> None:
    """Raise InstanceFenced unless the instance lives: it was not declared dead."""
    if connection.row(load_book()["scheduler.alive"], (instance,)) is None:
        raise refusals.fenced(instance)


def apply(connection: Connection, instance: str, changes: Sequence[Change], now: float) -> None:
    """Apply changes, by kind; raises Missed, or what SQLite raises, with some of them applied."""
    _apply_local_submissions(connection, instance, changes)
    for change in changes:
        if change.plans:
            planned_steps.record(connection, change.begun, change.plans)
    _check_held(connection, instance, changes)
    for what, sql, rows_of in PARTS:
        _run(connection, what, Q[sql], rows_of(changes))
    trims = [(change.task, *astuple(change.trim), TRIM_ROWS) for change in changes if change.trim is not None]
    for sql in ("trim_steps", "trim_signals") if trims else ():
        connection.change_many(Q[sql], trims)
    tellings = [(change.task, change.telling) for change in changes if change.telling is not None]
    if tellings and not status_events.tell_all(connection, tellings, now):
        raise Missed("events: somebody else told of the task since it was read")
    moves = [_move_values(change.task, change.move, instance) for change in changes if change.move is not None]
    _run(connection, NOT_AS_READ, Q["move_task"], moves)
    bounds = [(change.task, change.complete_by) for change in changes if change.complete_by is not None]
    if bounds:
        connection.change_many(Q["complete_by"], bounds)
    children = [astuple(child) for change in changes for child in change.children]
    if children:
        connection.change_many(Q["insert_child"], children)
    if any(change.posts or change.alerts or change.audits or change.fits is not None for change in changes):
        driven(connection, _tell_others, changes, now)


async def _tell_others(connection: VerbConnection, changes: Sequence[Change], now: float) -> None:
    await inbox.post_all(connection, [post for change in changes for post in change.posts], now)
    await journal.write_alerts(connection, [alert for change in changes for alert in change.alerts], now)
    await journal.settle(connection, [change.fits for change in changes if change.fits is not None], now)
    await journal.write_audits(connection, [audit for change in changes for audit in change.audits], now)


def apply_each(connection: Connection, instance: str, changes: Sequence[Change], now: float) -> dict[str, str]:
    """Apply each change in a savepoint of its own; the uids of those that do not apply, with the reason."""
    missed: dict[str, str] = {}
    # Those that post come last: a post must not make another task of this very turn miss its release.
    for change in sorted(changes, key=lambda change: bool(change.posts)):
        try:
            with connection.savepoint():
                apply(connection, instance, [change], now)
        except Missed as reason:
            missed[change.task] = why_missed(change, _found(connection, change.task), instance, str(reason))
        except (*DATA, TypeError) as error:
            missed[change.task] = f"refused: {detail(error)}"
    return missed


def _found(connection: Connection, task: str) -> Task | None:
    return driven(connection, inbox.lock, [task]).get(task)


def _apply_local_submissions(connection: Connection, instance: str, changes: Sequence[Change]) -> None:
    born = [change.born for change in changes if change.born is not None]
    if not born:
        return
    if any(task.locked_by != instance for task in born):
        raise Missed(f"born: expected a task locked by {instance}")
    try:
        connection.change_many(Q["insert_task"], map(astuple, born))
    except apsw.ConstraintError as error:
        if "UNIQUE" not in str(error):
            raise
        raise Missed("born: the id or uid exists") from None


def _check_held(connection: Connection, instance: str, changes: Sequence[Change]) -> None:
    tasks = {change.task for change in changes if change.born is None and is_owners(change)}
    if not tasks:
        return
    row = connection.row(Q["held"], (msgspec.json.encode(list(tasks)).decode(), instance))
    if row is None or row[0] != len(tasks):
        raise Missed(f"the task is not held by {instance}")


def _run(connection: Connection, what: str, sql: str, rows: Sequence[Values]) -> None:
    if rows and connection.change_many(sql, rows) != len(rows):
        raise Missed(what)


def _inserts(changes: Sequence[Change]) -> list[Values]:
    return [astuple(step) for change in changes for step in change.inserts]


def _fills(changes: Sequence[Change]) -> list[Values]:
    return [astuple(step) for change in changes for step in change.fills]


def _finishes(changes: Sequence[Change]) -> list[Values]:
    return [astuple(finish) for change in changes for finish in change.finishes]


def _delivers(changes: Sequence[Change]) -> list[Values]:
    return [astuple(deliver) for change in changes for deliver in change.delivers]


def _step_moves(changes: Sequence[Change]) -> list[Values]:
    return [_step_move_values(move) for change in changes for move in change.step_moves]


def _dispatches(changes: Sequence[Change]) -> list[Values]:
    return [astuple(dispatch) for change in changes for dispatch in change.dispatches]


def _watches(changes: Sequence[Change]) -> list[Values]:
    return [astuple(watch) for change in changes for watch in change.watches]


def _taken(changes: Sequence[Change]) -> list[Values]:
    return [(number, change.task) for change in changes for number in change.taken]


PARTS: list[tuple[str, str, Callable[[Sequence[Change]], list[Values]]]] = [
    ("insert: nothing was inserted", "insert_step", _inserts),
    ("fill: the step is not planned", "fill_step", _fills),
    # A step can be given up and answered in one turn: its late result is recorded on the abandoned row.
    ("step move: the step is not in the state that it leaves", "move_step", _step_moves),
    ("finish: the step is not running at that attempt", "finish", _finishes),
    ("deliver: the step has no undelivered outcome", "deliver", _delivers),
    ("dispatch: the step does not wait for that attempt", "dispatch", _dispatches),
    ("watch: the step is not running at that attempt", "watch", _watches),
    ("taken: an inbox row is gone", "take_inbox", _taken),
]
"""What of a turn touches steps and inbox rows, in the order of its being applied; each changes one row."""


def _step_move_values(move: StepMove) -> Values:
    if move.after not in STEP_MOVES[move.before]:
        raise Missed(f"step move: no step goes from {move.before} to {move.after}")
    return astuple(move)


def _move_values(task: str, move: TaskMove, instance: str) -> tuple[Any, ...]:
    if move.after is not move.before and move.after not in TASK_MOVES[move.before]:
        raise Missed(f"move: no task goes from {move.before} to {move.after}")
    ends = move.after in TASK_ENDS
    return (
        task,
        instance,
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
        move.complete_by,
    )
