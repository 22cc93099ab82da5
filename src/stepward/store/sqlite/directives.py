"""Directives on the rows: judged by the rules of the model, audited, in force when they return."""

from __future__ import annotations

from typing import Any

import msgspec

from stepward.errors import IllegalTransition
from stepward.model.directives import Verb, judge
from stepward.model.records import Audit, InboxKind, Step, Task
from stepward.model.states import STEP_MOVES, StepKind, StepState, TaskState
from stepward.store.contract import Directive, Post
from stepward.store.queries import load_queries
from stepward.store.sqlite import inbox, journal, rows
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.rows import FRAGMENTS

Q = load_queries(__package__, "directives.sql", FRAGMENTS)

AT_WORK = frozenset({StepState.RUNNING, StepState.TO_REPEAT})
UNDONE = frozenset({TaskState.UNDOING, TaskState.UNDONE, TaskState.CANCELLED})


def direct(connection: Connection, task: Task, directive: Directive, now: float) -> TaskState:
    """Carry out a directive, or leave it to the task's owner; the state after."""
    verdict = judge(directive.verb, task)
    step = _change_step(connection, task, directive, now)
    if verdict.by_owner:
        post = Post(task=task.uid, kind=InboxKind(directive.verb), sender=directive.actor)
        inbox.insert(connection, post, now)
    else:
        inbox.move_free(connection, task, verdict, now)
    audit = Audit(
        actor=directive.actor,
        act=directive.verb,
        task=task.uid,
        step=step,
        before=task.state,
        after=verdict.after,
        details=_details(directive),
    )
    journal.write_audits(connection, [audit], now)
    return verdict.after


def _change_step(connection: Connection, task: Task, directive: Directive, now: float) -> str | None:
    if directive.verb == Verb.RESUBMIT:
        return _repeat(connection, task, directive, now)
    if directive.verb == Verb.MARK_DONE:
        return _mark_done(connection, task, directive, now)
    return None


def _repeat(connection: Connection, task: Task, directive: Directive, now: float) -> str | None:
    step = _named_step(connection, task, directive)
    if step is None and directive.input is not None:
        raise IllegalTransition(
            f"resubmit of task {task.id}: expected a step for the edited input, found none; name it"
        )
    if step is not None:
        changed = connection.change(Q["repeat"], (step.task, step.run, step.key, now, directive.input))
        if not changed and (step.state not in AT_WORK or directive.input is not None):
            raise _wrong_state(task, step, "resubmit", "failed")
        if changed and step.kind is StepKind.CHILD:
            _repeat_child(connection, task, step, directive, now)
    connection.change(Q["repeat_expired"], (task.uid, task.run, now))
    return step.key if step else None


def _repeat_child(connection: Connection, task: Task, step: Step, directive: Directive, now: float) -> None:
    """The step waits for its child again: one in error is resubmitted, one that was mended meanwhile tells its end."""
    child = inbox.find(connection, f"{step.task}/{step.run}/{step.key}")
    if child is None or child.state in UNDONE or directive.input is not None:
        found = "a new input" if directive.input is not None else f"it {child.state if child else 'gone'}"
        raise IllegalTransition(
            f"resubmit of step {step.key} of task {task.id}: expected a child task to go on with, found {found}; "
            "submit another task, and mark the step as done"
        )
    connection.change(Q["repeat_child"], (step.task, step.run, step.key, now))
    if child.state is TaskState.ERROR:
        direct(connection, child, Directive(verb=Verb.RESUBMIT, actor=directive.actor), now)
    elif child.state is TaskState.PROCESSED:
        body = {"state": child.state, "output": msgspec.Raw(child.output or b"null"), "error": None}
        name = f"{step.run}/{step.key}"
        told = Post(task=task.uid, kind=InboxKind.CHILD, name=name, body=msgspec.json.encode(body))
        inbox.insert(connection, told, now)


def _mark_done(connection: Connection, task: Task, directive: Directive, now: float) -> str:
    step = _named_step(connection, task, directive)
    if step is None:
        raise IllegalTransition(f"mark_done of task {task.id}: expected a step that failed, found none; name the step")
    if StepState.COMPLETED not in STEP_MOVES[step.state] and not _is_last_done(connection, step):
        raise _wrong_state(task, step, "mark_done", "one that has not ended well")
    result = directive.result if directive.result is not None else b"null"
    connection.change(Q["mark_done"], (step.task, step.run, step.key, result, now))
    return step.key


def _is_last_done(connection: Connection, step: Step) -> bool:
    """Whether the workflow was told nothing after this step's result, which may be what it could not bear."""
    if step.state is not StepState.COMPLETED:
        return False
    return connection.row(Q["told_later"], (step.task, step.run, step.ordinal)) is None


def _named_step(connection: Connection, task: Task, directive: Directive) -> Step | None:
    """The step that the directive names, else the failed one that the task's error names."""
    key = directive.step or _blamed(task)
    row = connection.row(Q["step"], (task.uid, key)) if key else None
    step = rows.step(row) if row else None
    if directive.step is None:
        return step if step is not None and step.state is StepState.FAILED else None
    if step is None:
        raise IllegalTransition(
            f"{directive.verb} of task {task.id}: expected a step {key}, found none; look at the task's steps"
        )
    return step


def _blamed(task: Task) -> str | None:
    error: Any = msgspec.json.decode(task.error) if task.error else None
    if isinstance(error, dict) and error.get("cause") and task.undo_to is None:
        # Undo was barred: what is to be mended is what it was begun for.
        error = error["cause"]
    step = error.get("step") if isinstance(error, dict) else None
    return step if isinstance(step, str) else None


def _wrong_state(task: Task, step: Step, verb: str, expected: str) -> IllegalTransition:
    return IllegalTransition(
        f"{verb} of step {step.key} of task {task.id}: expected it {expected}, found it {step.state}; "
        "choose another step"
    )


def _details(directive: Directive) -> bytes:
    given = {"input": directive.input, "result": directive.result}
    return msgspec.json.encode({name: msgspec.Raw(data) for name, data in given.items() if data is not None})
