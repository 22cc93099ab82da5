"""Replies that reached a Scheduler which does not hold their task: handed on, recorded, or told as late."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import astuple

from stepward.model.messages.requests import Outcome, Reply
from stepward.model.records import Task
from stepward.store import rows
from stepward.store.queries import load_queries
from stepward.store.rules import verdicts
from stepward.store.sqlite import inbox, journal
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.rows import FRAGMENTS

Q = load_queries(__package__, "stray.sql")
COMPLETING = load_queries(__package__, "completing.sql", FRAGMENTS)
TURN = load_queries(__package__, "turn.sql", FRAGMENTS)


def settle(connection: Connection, replies: Iterable[Reply], now: float) -> None:
    """Implements ``SchedulerStore.stray``."""
    for reply in replies:
        task = inbox.find(connection, reply.task)
        if task is not None and task.locked_by is not None:
            inbox.insert(connection, verdicts.handed_on(reply), now)
        elif reply.outcome is Outcome.DEFERRED:
            # It says nothing of an outcome: one that comes too late is no loss.
            connection.change(Q["defer"], (reply.task, reply.run, reply.key, reply.attempt, now))
        else:
            _settle_free(connection, task, reply, now)


def _settle_free(connection: Connection, task: Task | None, reply: Reply, now: float) -> None:
    is_success = reply.outcome is Outcome.COMPLETED
    is_unheard = is_success and _is_so(connection, "undo_began", reply)
    is_denied = is_success and _is_so(connection, "denied", reply)
    recorded = task is not None and _record(connection, reply, now)
    if not recorded:
        journal.write_audits(connection, [verdicts.late_reply(reply)], now)
    if task is not None and is_unheard:
        journal.write_alerts(connection, [verdicts.late_effect(task, reply)], now)
    if task is not None and is_denied:
        journal.write_alerts(connection, [verdicts.denied_effect(task, reply)], now)


def _record(connection: Connection, reply: Reply, now: float) -> bool:
    row = connection.row(COMPLETING["step"], (reply.task, reply.run, reply.key))
    finish = verdicts.recorded(reply, rows.step(row) if row else None, now)
    if finish is None or not connection.change(TURN["finish"], astuple(finish)):
        return False
    connection.change(Q["wake"], (reply.task, now))
    return True


def _is_so(connection: Connection, question: str, reply: Reply) -> bool:
    row = connection.row(Q[question], (reply.task, reply.run, reply.key, reply.attempt))
    return row is not None and row[0] == 1
