"""Replies that reached a Scheduler which does not hold their task: handed on, recorded, or told as late."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import astuple

from stepward.model.messages import Outcome, Reply
from stepward.model.records import Alert, Audit, InboxKind, Task
from stepward.model.states import StepState
from stepward.store.contract import Finish, Post
from stepward.store.queries import load_queries
from stepward.store.sqlite import inbox, journal
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.rows import FRAGMENTS

Q = load_queries(__package__, "stray.sql")
TURN = load_queries(__package__, "turn.sql", FRAGMENTS)

STATES = {Outcome.COMPLETED: StepState.COMPLETED, Outcome.FAILED: StepState.FAILED}


def settle(connection: Connection, replies: Iterable[Reply], now: float) -> None:
    """See ``SchedulerStore.stray``."""
    for reply in replies:
        task = inbox.find(connection, reply.task)
        if task is not None and task.locked_by is not None:
            inbox.insert(connection, _row(reply), now)
        else:
            _settle_free(connection, task, reply, now)


def _settle_free(connection: Connection, task: Task | None, reply: Reply, now: float) -> None:
    is_unheard = reply.outcome is Outcome.COMPLETED and _undo_began(connection, reply)
    recorded = task is not None and _record(connection, reply, now)
    if not recorded:
        late = Audit(actor="agent", act="late_reply", task=reply.task, step=reply.key, after=reply.outcome)
        journal.write_audits(connection, [late], now)
    if task is not None and is_unheard:
        journal.write_alerts(connection, [_late_effect(task, reply)], now)


def _record(connection: Connection, reply: Reply, now: float) -> bool:
    state = STATES.get(reply.outcome)
    if state is None:
        return False
    doubt = state is StepState.FAILED and reply.maybe_done
    finish = Finish(
        task=reply.task,
        run=reply.run,
        key=reply.key,
        attempt=reply.attempt,
        state=state,
        output=reply.output,
        error=reply.error,
        in_doubt=doubt,
        ordinal=None,
        finished_at=now,
    )
    if not connection.change(TURN["finish"], astuple(finish)):
        return False
    connection.change(Q["wake"], (reply.task, now))
    return True


def _undo_began(connection: Connection, reply: Reply) -> bool:
    row = connection.row(Q["undo_began"], (reply.task, reply.run, reply.key))
    return row is not None and row[0] == 1


def _row(reply: Reply) -> Post:
    name = f"{reply.run}/{reply.key}"
    return Post(task=reply.task, kind=InboxKind.REPLY, name=name, body=msgspec.json.encode(reply))


def _late_effect(task: Task, reply: Reply) -> Alert:
    return Alert(
        kind="late_effect_after_undo",
        task=task.uid,
        task_id=task.id,
        step=reply.key,
        message=f"{task.id}: {reply.key} took effect after its undo began; look whether the effect stands",
    )
