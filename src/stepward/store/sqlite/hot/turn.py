"""A Scheduler's turn on the rows of a file: all its changes at once."""

from __future__ import annotations

from collections.abc import Sequence

import apsw
from msgspec.structs import astuple

from stepward.store.contract import TRIM_ROWS, Change
from stepward.store.queries import load_queries
from stepward.store.rules.changes import NOT_AS_READ, Missed
from stepward.store.rules.turn_rows import (
    STEP_QUERIES,
    held_tasks,
    local_submissions,
    move_values,
    planned_rows,
    trim_rows,
)
from stepward.store.sqlite.engine.connection import Connection, Values, encoded
from stepward.store.sqlite.engine.parameters import FRAGMENTS
from stepward.store.sqlite.engine.verb_engine import driven
from stepward.store.sqlite.hot import status_events
from stepward.store.verbs import journal
from stepward.store.verbs.tasks import turns

Q = load_queries(__package__, "turn.sql", FRAGMENTS)


def apply(connection: Connection, instance: str, changes: Sequence[Change], now: float) -> None:
    """Apply changes, by kind; raises Missed, or what SQLite raises, with some of them applied."""
    _insert_tasks(connection, instance, changes)
    _insert_planned(connection, changes)
    _check_held(connection, instance, changes)
    for query, what, rows_of in STEP_QUERIES:
        _run(connection, what, Q[query], rows_of(changes))
    _trim(connection, changes)
    events = [(change.task, change.telling) for change in changes if change.telling is not None]
    if events:
        status_events.put(connection, events, now)
    moves = [(*move_values(change.task, change.move), instance) for change in changes if change.move is not None]
    _run(connection, NOT_AS_READ, Q["move_task"], moves)
    bounds = [(change.task, change.complete_by) for change in changes if change.complete_by is not None]
    if bounds:
        connection.change_many(Q["complete_by"], bounds)
    attributes = [(change.task, change.attributes) for change in changes if change.attributes is not None]
    if attributes:
        connection.change_many(Q["set_attributes"], attributes)
    children = [astuple(child) for change in changes for child in change.children]
    if children:
        connection.change_many(Q["insert_child"], children)
    _tell_others(connection, changes, now)


def _insert_tasks(connection: Connection, instance: str, changes: Sequence[Change]) -> None:
    tasks = local_submissions(instance, changes)
    if not tasks:
        return
    try:
        connection.change_many(Q["insert_task"], map(astuple, tasks))
    except apsw.ConstraintError as error:
        if "UNIQUE" not in str(error):
            raise
        raise Missed("born: the id or uid exists") from None


def _insert_planned(connection: Connection, changes: Sequence[Change]) -> None:
    for change in changes:
        if change.plans:
            connection.change_many(Q["insert_planned"], map(astuple, planned_rows(change)))


def _check_held(connection: Connection, instance: str, changes: Sequence[Change]) -> None:
    tasks = held_tasks(changes)
    if not tasks:
        return
    row = connection.row(Q["held"], (encoded(list(tasks)), instance))
    if row is None or row[0] != len(tasks):
        raise Missed(f"the task is not held by {instance}")


def _trim(connection: Connection, changes: Sequence[Change]) -> None:
    trims = [(*row, TRIM_ROWS) for row in trim_rows(changes)]
    for query in ("trim_steps", "trim_signals") if trims else ():
        connection.change_many(Q[query], trims)


def _tell_others(connection: Connection, changes: Sequence[Change], now: float) -> None:
    alerts = [alert for change in changes for alert in change.alerts]
    if alerts:
        driven(connection, journal.write_alerts, alerts, now)
    if any(change.posts or change.audits or change.fits is not None for change in changes):
        driven(connection, turns.tell_others, changes, now)


def _run(connection: Connection, what: str, sql: str, rows: Sequence[Values]) -> None:
    if rows and connection.change_many(sql, rows) != len(rows):
        raise Missed(what)
