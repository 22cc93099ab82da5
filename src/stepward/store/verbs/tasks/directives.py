"""Directives on the rows: checked by the rules of the model, audited, in effect when they return."""

from __future__ import annotations

from msgspec.structs import astuple

from stepward.model.records import InboxKind, Task
from stepward.model.states import TaskState
from stepward.model.tasks.directives import DirectiveVerb, judge
from stepward.store import rows
from stepward.store.contract import Directive, Post
from stepward.store.rules.audit import audited_acts
from stepward.store.rules.directives import concerned_steps, directive_effects
from stepward.store.rules.directives.repair_rows import Repair
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.tasks import inbox, new_tasks

REPAIRS = frozenset({DirectiveVerb.RESUBMIT, DirectiveVerb.MARK_DONE})


async def direct(connection: VerbConnection, task: Task, directive: Directive, now: float) -> TaskState:
    """Carries out a directive on a locked task, or leaves it to the task's owner; returns the state after."""
    verdict = judge(directive.verb, task)
    has_rows = directive.verb in REPAIRS or task.state is TaskState.ERROR
    repair = await _repair(connection, task, directive, now) if has_rows else Repair()
    if verdict.by_owner:
        post = Post(task=task.uid, kind=InboxKind(directive.verb), sender=directive.actor)
        await inbox.insert(connection, [post], now)
    else:
        await inbox.move_free(connection, task, verdict, now)
    audit = audited_acts.directive_audit(task, directive, repair.step, verdict.after, repair.details)
    await alerts_and_audit.write_audits(connection, [audit], now)
    return verdict.after


async def _repair(connection: VerbConnection, task: Task, directive: Directive, now: float) -> Repair:
    steps = [rows.step(row) for row in await connection.rows("directives.steps", task.uid)]
    if directive.verb == DirectiveVerb.MARK_DONE:
        repair = directive_effects.marking(task, steps, directive, now)
    elif directive.verb == DirectiveVerb.RESUBMIT:
        children = await inbox.lock(connection, concerned_steps.concerned_children(steps, directive))
        repair = directive_effects.resubmission(task, steps, directive, children, now)
    else:
        repair = directive_effects.undoing(task, steps, directive, now)
    await connection.change_each("directives.delete_step", [(task.uid, run, key) for run, key in repair.gone])
    await connection.change_each("turn.insert_step", [astuple(step) for step in repair.inserted])
    await connection.change_each("directives.drop_child_end", [(task.uid, place) for place in repair.dropped])
    for child in repair.begun:
        await new_tasks.begin(connection, [child], child.workflow, child.version)
    for child in repair.resubmitted:
        await direct(connection, child, _again(directive), now)
    if directive.deadline is not None:
        await connection.change("directives.set_deadline", task.uid, directive.deadline)
    if directive.priority is not None:
        await connection.change("directives.set_priority", task.uid, directive.priority)
    await inbox.insert(connection, repair.posts, now)
    return repair


def _again(directive: Directive) -> Directive:
    """The directive for a child task that continues with its parent."""
    return Directive(
        verb=DirectiveVerb.RESUBMIT,
        actor=directive.actor,
        deadline=directive.deadline,
        priority=directive.priority,
        batch=directive.batch,
        reason=directive.reason,
    )
