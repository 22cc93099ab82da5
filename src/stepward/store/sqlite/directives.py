"""Directives on the rows: judged by the rules of the model, audited, in force when they return."""

from __future__ import annotations

from msgspec.structs import astuple

from stepward.model.directives import DirectiveVerb, judge
from stepward.model.plan import from_json
from stepward.model.records import InboxKind, Task
from stepward.model.states import TaskState
from stepward.store import rows
from stepward.store.contract import Directive, Post
from stepward.store.queries import load_queries
from stepward.store.rules import repairs, rewinding, verdicts
from stepward.store.rules.repairs import Repair
from stepward.store.sqlite import inbox, journal, submission
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.rows import FRAGMENTS

Q = load_queries(__package__, "directives.sql", FRAGMENTS)
REPAIRS = frozenset({DirectiveVerb.RESUBMIT, DirectiveVerb.MARK_DONE})


def direct(connection: Connection, task: Task, directive: Directive, now: float) -> TaskState:
    """Carry out a directive, or leave it to the task's owner; the state after."""
    verdict = judge(directive.verb, task)
    has_rows = directive.verb in REPAIRS or task.state is TaskState.ERROR
    repair = _repair(connection, task, directive, now) if has_rows else Repair()
    if verdict.by_owner:
        post = Post(task=task.uid, kind=InboxKind(directive.verb), sender=directive.actor)
        inbox.insert(connection, post, now)
    else:
        inbox.move_free(connection, task, verdict, now)
    audit = verdicts.audited(task, directive, repair.step, verdict.after, repair.details)
    journal.write_audits(connection, [audit], now)
    return verdict.after


def _repair(connection: Connection, task: Task, directive: Directive, now: float) -> Repair:
    steps = [rows.step(row) for row in connection.rows(Q["steps"], (task.uid,))]
    if directive.verb == DirectiveVerb.MARK_DONE:
        repair = repairs.marking(task, steps, directive, now)
    elif directive.verb == DirectiveVerb.RESUBMIT:
        found = (inbox.find(connection, uid) for uid in rewinding.concerned_children(steps))
        children = {child.uid: child for child in found if child is not None}
        repair = repairs.resubmission(task, steps, directive, children, now)
    else:
        repair = repairs.undoing(task, steps, directive, now)
    connection.change_many(Q["delete_step"], [(task.uid, run, key) for run, key in repair.gone])
    connection.change_many(Q["insert_step"], map(astuple, repair.inserted))
    for child in repair.begun:
        _begin(connection, child)
    for child in repair.resubmitted:
        again = Directive(verb=DirectiveVerb.RESUBMIT, actor=directive.actor, deadline=directive.deadline)
        direct(connection, child, again, now)
    if directive.deadline is not None:
        connection.change(Q["set_deadline"], (task.uid, directive.deadline))
    for post in repair.posts:
        inbox.insert(connection, post, now)
    return repair


def _begin(connection: Connection, child: Task) -> None:
    row = connection.row(Q["plan"], (child.workflow, child.version))
    plans = {(child.workflow, child.version): from_json(row[0])} if row else {}
    submission.submit(connection, [child], plans)
