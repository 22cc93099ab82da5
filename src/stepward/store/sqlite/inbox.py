"""What others want of a task: a row for its owner, or a move at once while it has none."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from stepward.errors import IllegalTransition
from stepward.model.directives import DirectiveVerdict, judge
from stepward.model.messages.status_events import OF_STATE, ended_with
from stepward.model.records import InboxKind, Task
from stepward.model.states import TASK_ENDS, TaskState
from stepward.model.stopped_tasks import place_of
from stepward.store.contract import Post
from stepward.store.queries import load_queries
from stepward.store.rows import task as task_of
from stepward.store.rules import verdicts
from stepward.store.sqlite import journal, planned, telling
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.rows import FRAGMENTS

Q = load_queries(__package__, "inbox.sql", FRAGMENTS)


def post_all(connection: Connection, posts: Iterable[Post], now: float) -> None:
    """Put rows into inboxes; a task that ended is moved by what undoes it, and keeps only the word of its children."""
    for post in posts:
        task = find(connection, post.task)
        if task is not None:
            _post(connection, task, post, now)
        elif post.kind in verdicts.DIRECTIVES:
            _tell_gone(connection, post, now)


def find(connection: Connection, uid: str) -> Task | None:
    """The task of that uid."""
    row = connection.row(Q["find"], (uid,))
    return task_of(row) if row else None


def insert(connection: Connection, post: Post, now: float) -> None:
    """Put a row into the inbox of a live task, and wake the task if it sleeps without an owner."""
    connection.change(Q["insert"], (post.task, post.kind, post.name, post.body, post.sender))
    connection.change(Q["count"], (post.task, now, post.kind is InboxKind.FAIL))


def move_free(
    connection: Connection, task: Task, verdict: DirectiveVerdict, now: float, cause: bytes | None = None
) -> None:
    """Move a task without an owner as judged; ``cause`` is the error that brings it about, if one does."""
    if verdict.after is task.state:
        return
    if connection.change(Q["move_free"], (task.uid, verdict.after, verdict.undo_to, now, cause)):
        if not verdicts.is_tried_again(task, verdict.after):
            telling.tell(connection, task, OF_STATE[verdict.after], now, **ended_with(None, cause))
        if verdicts.is_mended(task, verdict.after):
            _mend(connection, task, now)
        place = place_of(task)
        if place is not None and verdict.after is not TaskState.PENDING:
            journal.settle(connection, [place], now)
        if verdict.after is TaskState.CANCELLED:
            planned.skip(connection, task, now)


def _mend(connection: Connection, task: Task, now: float) -> None:
    by_hand = msgspec.json.encode(verdicts.BY_HAND).decode()
    numbers = [row[0] for row in connection.rows(Q["mend"], (task.uid, now, verdicts.MENDED, by_hand))]
    journal.write_audits(connection, [verdicts.acknowledged(number, verdicts.MENDED) for number in numbers], now)


def _post(connection: Connection, task: Task, post: Post, now: float) -> None:
    if task.locked_by is None and post.kind in verdicts.DIRECTIVES:
        _direct(connection, task, post, now)
    elif task.state not in (verdicts.FINAL if post.kind is InboxKind.CHILD else TASK_ENDS):
        insert(connection, post, now)


def _tell_parent(connection: Connection, task: Task, post: Post, now: float) -> None:
    parent = find(connection, task.parent) if task.parent is not None else None
    told = verdicts.told_again(task, parent, post)
    if told is not None:
        insert(connection, told, now)


def _tell_gone(connection: Connection, post: Post, now: float) -> None:
    told = verdicts.told_gone(find(connection, verdicts.parent_of(post.task)[0]), post)
    if told is not None:
        insert(connection, told, now)


def _direct(connection: Connection, task: Task, post: Post, now: float) -> None:
    try:
        verdict = judge(post.kind, task)
    except IllegalTransition:
        verdict = DirectiveVerdict(task.state)
    if verdict.after is task.state and task.state in TASK_ENDS:
        _tell_parent(connection, task, post, now)
    move_free(connection, task, verdict, now, post.body if post.body not in verdicts.NOTHING else None)
