"""Replies that reached a Scheduler which does not hold their task: forwarded to its owner, or recorded."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import astuple

from stepward.model.messages.requests import Outcome, Reply
from stepward.model.records import Alert, Audit, Task
from stepward.store import rows
from stepward.store.rules.audit.audited_acts import late_reply_audit
from stepward.store.rules.steps import misrouted_replies
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.replies.late_replies import late_alerts
from stepward.store.verbs.tasks import inbox, live_values


async def settle(connection: VerbConnection, replies: Sequence[Reply], now: float) -> None:
    """Forwards replies to the owners of their tasks, or records them for tasks without an owner."""
    tasks = await inbox.lock(connection, (reply.task for reply in replies))
    handed = inbox.PostRound(connection, tasks, now)
    audits: list[Audit] = []
    alerts: list[Alert] = []
    for reply in replies:
        task = tasks.get(reply.task)
        if task is not None and task.locked_by is not None:
            handed.hand_on(misrouted_replies.reply_post(reply))
        elif reply.outcome is Outcome.DEFERRED:
            # It says nothing of an outcome: one that comes too late is no loss.
            await connection.change("misrouted_replies.defer", reply.task, reply.run, reply.key, reply.attempt, now)
        else:
            await _settle_free(connection, task, reply, now, audits, alerts)
    await handed.deliver()
    await alerts_and_audit.write_alerts(connection, alerts, now)
    await alerts_and_audit.write_audits(connection, audits, now)


async def _settle_free(
    connection: VerbConnection, task: Task | None, reply: Reply, now: float, audits: list[Audit], alerts: list[Alert]
) -> None:
    late = await late_alerts(connection, task, reply)
    if task is None or not await _record(connection, reply, now):
        audits.append(late_reply_audit(reply))
    alerts += late


async def _record(connection: VerbConnection, reply: Reply, now: float) -> bool:
    row = await connection.row("completions.step", reply.task, reply.run, reply.key)
    finish = misrouted_replies.finish_of(reply, rows.step(row) if row else None, now)
    if finish is None or not await connection.change_each("turn.finish", [astuple(finish)]):
        return False
    await live_values.write(connection, reply.task, reply.written, now)
    await connection.change("misrouted_replies.wake", reply.task, now)
    return True
