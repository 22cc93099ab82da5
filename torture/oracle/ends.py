"""Every task is there, and came to the end of its kind; nothing else is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from stepward.model.states import TaskState
from stepward.supervisor.early_warnings.warning import KINDS as EARLY_WARNINGS
from torture.application.application import SCHEDULE
from torture.application.task_kinds import KINDS
from torture.books import MINUTE, Records

TAKEN_BACK = frozenset({TaskState.UNDONE, TaskState.CANCELLED})
"""Kinds of tasks in which the report of an effect may come so late that only a person can decide whether its undo
came before."""

REFUSED = frozenset({"old_wire", "unproven_message", "foreign_store"})
"""Reasons of rejected forged messages. A refusal of our own processes' requests is never among them: the narrow
login fills no queue."""


def ends(books: Records) -> Iterator[str]:
    """No task lost, invented or left over; alerts where they are due and nowhere else.

    Processes that are paused, ended and cut off renew late: early warnings are due at any time.
    """
    yield from _roots(books)
    for task in books.tasks:
        kind = KINDS[task.workflow]
        if task.state != kind.end:
            yield f"{task.id}: expected {kind.end}, found {task.state}"
        if task.locked_by is not None:
            yield f"{task.id}: expected nobody to hold it, found {task.locked_by}"
    yield from _alerts(books)
    yield from _rows(books)


def _roots(books: Records) -> Iterator[str]:
    expected = {**books.submitted, **books.posted, **dict.fromkeys(_nominal(books), "tick")}
    found = {task.id: task.workflow for task in books.tasks if task.parent is None}
    for id in expected.keys() - found.keys():
        yield f"{id}: was acknowledged or due, and there is no such task: lost"
    for id in found.keys() - expected.keys():
        yield f"{id}: nobody asked for this task"
    for id in expected.keys() & found.keys():
        if expected[id] != found[id]:
            yield f"{id}: expected a task of {expected[id]}, found one of {found[id]}"
    parents = Counter(task.uid for task in books.tasks if task.workflow == "parent")
    children = Counter(task.parent for task in books.tasks if task.parent is not None)
    for uid in (parents - children) | (children - parents):
        yield f"{uid}: expected {parents[uid]} child, found {children[uid]}"


def _nominal(books: Records) -> list[str]:
    """The tasks of the schedule: one for each nominal time that has come."""
    first, until = books.schedule
    times = [first + n * MINUTE for n in range(round((until - first) / MINUTE))]
    return [f"{SCHEDULE}@{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}" for at in times]


def _alerts(books: Records) -> Iterator[str]:
    due = Counter(task.uid for task in books.tasks if KINDS[task.workflow].end is TaskState.ERROR)
    found = Counter(alert.task for alert in books.alerts if alert.kind == "task_error" and alert.task is not None)
    for uid in (due - found) | (found - due):
        yield f"{uid}: expected {due[uid]} alerts of its error, found {found[uid]}"
    taken_back = {task.uid for task in books.tasks if KINDS[task.workflow].end in TAKEN_BACK}
    for alert in books.alerts:
        late = alert.kind == "late_effect_after_undo" and alert.task in taken_back
        refused = alert.kind in REFUSED and books.intrusions
        if alert.kind not in {"task_error", *EARLY_WARNINGS} and not late and not refused:
            yield f"alert that no fault explains: {alert.kind}: {alert.message}"


def _rows(books: Records) -> Iterator[str]:
    due = Counter(task.id for task in books.tasks if KINDS[task.workflow].booked)
    found = Counter(books.booked)
    for id in (due - found) | (found - due):
        yield f"{id}: expected {due[id]} rows of its transaction step, found {found[id]}"
    placed = Counter(books.placed)
    for id in (Counter(books.posted.keys()) - placed) | (placed - Counter(books.posted.keys())):
        yield f"{id}: expected {int(id in books.posted)} rows of its acceptance, found {placed[id]}"
