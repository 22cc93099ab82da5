"""Updates that a task is asked for: recorded once under their id, and put into its inbox."""

from __future__ import annotations

from stepward.model.records import InboxKind, Task
from stepward.model.states import TASK_ENDS
from stepward.model.tasks.updates import PREFIX
from stepward.store.contract import Post, UpdateAct, UpdateRow, UpdateState
from stepward.store.contract.values.updates import update_row
from stepward.store.rules import inbox_rules, refusals
from stepward.store.rules.audit import audited_acts
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.tasks import inbox


async def ask(connection: VerbConnection, task: Task, asked: UpdateAct, now: float) -> UpdateRow:
    """Asks a locked task for an update; one whose id was asked before is returned as it stands.

    Raises IllegalTransition for a task that has ended, and TaskConflict for the id of an update of another name.
    """
    row = await connection.row("client.update", task.uid, asked.id)
    if row is not None:
        found = update_row(row)
        refusals.check_same_update(task, found, asked.name)
        return found
    name = f"{PREFIX}{asked.name}"
    if task.state in TASK_ENDS:
        raise refusals.signal_too_late(task, name)
    if task.inbox >= inbox_rules.UNCOUNTED:
        waiting, size = (await connection.rows("client.waiting_signals", task.uid))[0]
        inbox_rules.check_signals(task, waiting + 1, size + len(asked.body), name)
    await connection.change("client.ask_update", task.uid, asked.id, asked.name, now)
    post = await put(connection, task, asked, now)
    if asked.actor is not None:
        await alerts_and_audit.write_audits(
            connection, [audited_acts.signal_audit(task, post, asked.actor, asked.reason)], now
        )
    return UpdateRow(task.uid, asked.id, asked.name, UpdateState.ASKED, None, now, None)


async def put(connection: VerbConnection, task: Task, asked: UpdateAct, now: float) -> Post:
    """Puts the update into the task's inbox; returns the row."""
    post = Post(task=task.uid, kind=InboxKind.SIGNAL, name=f"{PREFIX}{asked.name}", body=asked.body, sender=asked.id)
    await inbox.insert(connection, [post], now)
    return post
