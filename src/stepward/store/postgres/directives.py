"""Directives on the rows: judged by the rules of the model, audited, in force when they return."""

from __future__ import annotations

from msgspec.structs import astuple

from stepward.model.directives import DirectiveVerb, judge
from stepward.model.plan import from_json
from stepward.model.records import InboxKind, Task
from stepward.model.states import TaskState
from stepward.store import rows
from stepward.store.contract import Directive, Post
from stepward.store.postgres import inbox, journal, submission
from stepward.store.postgres.columns import columns_of
from stepward.store.postgres.connection import Connection
from stepward.store.rules import repairs, rewinding, verdicts
from stepward.store.rules.repairs import Repair

REPAIRS = frozenset({DirectiveVerb.RESUBMIT, DirectiveVerb.MARK_DONE})


async def direct(connection: Connection, task: Task, directive: Directive, now: float) -> TaskState:
    """Carry out a directive on a locked task, or leave it to the task's owner; the state after."""
    verdict = judge(directive.verb, task)
    has_rows = directive.verb in REPAIRS or task.state is TaskState.ERROR
    repair = await _repair(connection, task, directive, now) if has_rows else Repair()
    if verdict.by_owner:
        post = Post(task=task.uid, kind=InboxKind(directive.verb), sender=directive.actor)
        await inbox.insert(connection, [post], now)
    else:
        await inbox.move_free(connection, task, verdict, now)
    audit = verdicts.audited(task, directive, repair.step, verdict.after, repair.details)
    journal.write_audits(connection, [audit], now)
    return verdict.after


async def _repair(connection: Connection, task: Task, directive: Directive, now: float) -> Repair:
    steps = [rows.step(row) for row in await connection.rows("directives.steps", task.uid)]
    if directive.verb == DirectiveVerb.MARK_DONE:
        repair = repairs.marking(task, steps, directive, now)
    elif directive.verb == DirectiveVerb.RESUBMIT:
        children = await inbox.lock(connection, rewinding.concerned_children(steps))
        repair = repairs.resubmission(task, steps, directive, children, now)
    else:
        repair = repairs.undoing(task, steps, directive, now)
    if repair.gone:
        await connection.change("directives.delete_steps", task.uid, *columns_of(repair.gone))
    if repair.inserted:
        await connection.change("turn.insert_step", *columns_of([astuple(step) for step in repair.inserted]))
    for child in repair.begun:
        await _begin(connection, child)
    for child in repair.resubmitted:
        again = Directive(verb=DirectiveVerb.RESUBMIT, actor=directive.actor, deadline=directive.deadline)
        await direct(connection, child, again, now)
    if directive.deadline is not None:
        await connection.change("directives.set_deadline", task.uid, directive.deadline)
    await inbox.insert(connection, repair.posts, now)
    return repair


async def _begin(connection: Connection, child: Task) -> None:
    row = await connection.row("directives.plan", child.workflow, child.version)
    plans = {(child.workflow, child.version): from_json(row[0])} if row else {}
    await submission.submit(connection, [child], plans)
