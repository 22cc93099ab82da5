"""Rows of an inbox, read before anything comes of them: pure.

Schedulers, clients and the Supervisor write what can be read; a row that cannot comes from some other program.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct

from stepward.model.effects import read_place
from stepward.model.messages.requests import RecordedReply
from stepward.model.records import Alert, InboxKind, InboxRow, Task
from stepward.scheduler.tasks import step_rows as rows
from stepward.scheduler.tasks.active_task import ActiveTask

UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)


class Ended(Struct):
    """What a parent is told of a child's end, at least."""

    state: str
    output: Raw
    error: Raw


def readable(active: ActiveTask, inbox: Sequence[InboxRow], now: float) -> list[InboxRow]:
    """What can be read of ``inbox``; the others are used up, and an operator is told of each."""
    found = []
    for row in inbox:
        complaint = complaint_about(row)
        if complaint is None:
            found.append(row)
        else:
            active.seen = max(active.seen, row.number)
            active.changed().take(row.number)
            active.changed().alert(_alert(active.task, row, complaint, now))
    return found


def complaint_about(row: InboxRow) -> str | None:
    """Why the row cannot be read; None if it can."""
    try:
        if row.kind is InboxKind.REPLY:
            msgspec.json.decode(row.body, type=RecordedReply)
        elif row.kind is InboxKind.CHILD:
            read_place(row.name)
            msgspec.json.decode(row.body, type=Ended)
        elif row.kind is not InboxKind.STEP:
            msgspec.json.decode(row.body)
        elif row.name:
            int(row.name.partition("/")[0])
    except UNREADABLE as error:
        return str(error)
    return None


def _alert(task: Task, row: InboxRow, complaint: str, now: float) -> Alert:
    message = (
        f"{task.id}: expected in its inbox what Stepward writes there, found as {row.kind} from "
        f"{row.sender or 'nobody'} what cannot be read ({complaint}): dropped; find the program that writes there"
    )
    return rows.alert(task, "unreadable_inbox", message, now, found=row.kind.value, name=row.name, sender=row.sender)
