"""Successes that come too late for a step of a task that no Scheduler holds: looked up, and reported as alerts."""

from __future__ import annotations

from stepward.model.messages.requests import Outcome, Reply
from stepward.model.records import Alert, Task
from stepward.store.rules.steps.late_replies import denied_effect_alert, late_effect_alert
from stepward.store.verbs.connection import VerbConnection


async def late_alerts(connection: VerbConnection, task: Task | None, reply: Reply) -> list[Alert]:
    """Alerts of a success whose step was undone or denied before; asked before the reply is recorded."""
    if reply.outcome is not Outcome.COMPLETED:
        return []
    is_unheard = await _is_so(connection, "late_replies.undo_began", reply)
    is_denied = await _is_so(connection, "late_replies.denied", reply)
    alerts: list[Alert] = []
    if task is not None and is_unheard:
        alerts.append(late_effect_alert(task, reply))
    if task is not None and is_denied:
        alerts.append(denied_effect_alert(task, reply))
    return alerts


async def _is_so(connection: VerbConnection, question: str, reply: Reply) -> bool:
    row = await connection.row(question, reply.task, reply.run, reply.key, reply.attempt)
    return row is not None and bool(row[0])
