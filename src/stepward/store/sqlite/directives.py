"""Directives on the rows: judged by the rules of the model, audited, in force when they return."""

from __future__ import annotations

from stepward.model.directives import Verb, judge
from stepward.model.records import InboxKind, Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.store import rows, rulings
from stepward.store.contract import Directive, Post
from stepward.store.queries import load_queries
from stepward.store.sqlite import inbox, journal
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.rows import FRAGMENTS

Q = load_queries(__package__, "directives.sql", FRAGMENTS)


def direct(connection: Connection, task: Task, directive: Directive, now: float) -> TaskState:
    """Carry out a directive, or leave it to the task's owner; the state after."""
    verdict = judge(directive.verb, task)
    step = _change_step(connection, task, directive, now)
    if verdict.by_owner:
        post = Post(task=task.uid, kind=InboxKind(directive.verb), sender=directive.actor)
        inbox.insert(connection, post, now)
    else:
        inbox.move_free(connection, task, verdict, now)
    journal.write_audits(connection, [rulings.audited(task, directive, step, verdict.after)], now)
    return verdict.after


def _change_step(connection: Connection, task: Task, directive: Directive, now: float) -> str | None:
    if directive.verb == Verb.RESUBMIT:
        return _repeat(connection, task, directive, now)
    if directive.verb == Verb.MARK_DONE:
        return _mark_done(connection, task, directive, now)
    return None


def _repeat(connection: Connection, task: Task, directive: Directive, now: float) -> str | None:
    step = _named_step(connection, task, directive)
    rulings.check_resubmit(task, directive, step)
    if step is not None:
        changed = connection.change(Q["repeat"], (step.task, step.run, step.key, now, directive.input))
        if changed and step.kind is StepKind.CHILD:
            _repeat_child(connection, task, step, directive, now)
    connection.change(Q["repeat_expired"], (task.uid, task.run, now))
    return step.key if step else None


def _repeat_child(connection: Connection, task: Task, step: Step, directive: Directive, now: float) -> None:
    """The step waits for its child again: one in error is resubmitted, one that was mended meanwhile tells its end."""
    found = inbox.find(connection, f"{step.task}/{step.run}/{step.key}")
    child = rulings.check_child(task, step, directive, found)
    connection.change(Q["repeat_child"], (step.task, step.run, step.key, now))
    if child.state is TaskState.ERROR:
        direct(connection, child, Directive(verb=Verb.RESUBMIT, actor=directive.actor), now)
    elif child.state is TaskState.PROCESSED:
        inbox.insert(connection, rulings.child_told(child, step), now)


def _mark_done(connection: Connection, task: Task, directive: Directive, now: float) -> str:
    named = _named_step(connection, task, directive)
    step = rulings.check_mark(task, named, is_last=named is not None and _is_last(connection, named))
    result = directive.result if directive.result is not None else b"null"
    connection.change(Q["mark_done"], (step.task, step.run, step.key, result, now))
    return step.key


def _is_last(connection: Connection, step: Step) -> bool:
    """Whether the workflow was told nothing after this step's result, which may be what it could not bear."""
    if step.state is not StepState.COMPLETED:
        return False
    return connection.row(Q["told_later"], (step.task, step.run, step.ordinal)) is None


def _named_step(connection: Connection, task: Task, directive: Directive) -> Step | None:
    key = directive.step or rulings.blamed(task)
    row = connection.row(Q["step"], (task.uid, key)) if key else None
    return rulings.chosen_step(task, directive, rows.step(row) if row else None)
