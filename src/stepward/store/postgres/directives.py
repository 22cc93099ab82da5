"""Directives on the rows: judged by the rules of the model, audited, in force when they return."""

from __future__ import annotations

from stepward.model.directives import Verb, judge
from stepward.model.records import InboxKind, Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.store import rows, rulings
from stepward.store.contract import Directive, Post
from stepward.store.postgres import inbox, journal
from stepward.store.postgres.connection import Connection


async def direct(connection: Connection, task: Task, directive: Directive, now: float) -> TaskState:
    """Carry out a directive on a locked task, or leave it to the task's owner; the state after."""
    verdict = judge(directive.verb, task)
    step = await _change_step(connection, task, directive, now)
    if verdict.by_owner:
        post = Post(task=task.uid, kind=InboxKind(directive.verb), sender=directive.actor)
        await inbox.insert(connection, [post], now)
    else:
        await inbox.move_free(connection, task, verdict, now)
    await journal.write_audits(connection, [rulings.audited(task, directive, step, verdict.after)], now)
    return verdict.after


async def _change_step(connection: Connection, task: Task, directive: Directive, now: float) -> str | None:
    if directive.verb == Verb.RESUBMIT:
        return await _repeat(connection, task, directive, now)
    if directive.verb == Verb.MARK_DONE:
        return await _mark_done(connection, task, directive, now)
    return None


async def _repeat(connection: Connection, task: Task, directive: Directive, now: float) -> str | None:
    step = await _named_step(connection, task, directive)
    rulings.check_resubmit(task, directive, step)
    if step is not None:
        changed = await connection.change("directives.repeat", step.task, step.run, step.key, now, directive.input)
        if changed and step.kind is StepKind.CHILD:
            await _repeat_child(connection, task, step, directive, now)
    await connection.change("directives.repeat_expired", task.uid, task.run, now)
    return step.key if step else None


async def _repeat_child(connection: Connection, task: Task, step: Step, directive: Directive, now: float) -> None:
    """The step waits for its child again: one in error is resubmitted, one that was mended meanwhile tells its end."""
    uid = f"{step.task}/{step.run}/{step.key}"
    found = (await inbox.lock(connection, [uid])).get(uid)
    child = rulings.check_child(task, step, directive, found)
    await connection.change("directives.repeat_child", step.task, step.run, step.key, now)
    if child.state is TaskState.ERROR:
        await direct(connection, child, Directive(verb=Verb.RESUBMIT, actor=directive.actor), now)
    elif child.state is TaskState.PROCESSED:
        await inbox.insert(connection, [rulings.child_told(child, step)], now)


async def _mark_done(connection: Connection, task: Task, directive: Directive, now: float) -> str:
    named = await _named_step(connection, task, directive)
    is_last = named is not None and await _is_last(connection, named)
    step = rulings.check_mark(task, named, is_last=is_last)
    result = directive.result if directive.result is not None else b"null"
    await connection.change("directives.mark_done", step.task, step.run, step.key, result, now)
    return step.key


async def _is_last(connection: Connection, step: Step) -> bool:
    """Whether the workflow was told nothing after this step's result, which may be what it could not bear."""
    if step.state is not StepState.COMPLETED:
        return False
    return await connection.row("directives.told_later", step.task, step.run, step.ordinal) is None


async def _named_step(connection: Connection, task: Task, directive: Directive) -> Step | None:
    key = directive.step or rulings.blamed(task)
    row = await connection.row("directives.step", task.uid, key) if key else None
    return rulings.chosen_step(task, directive, rows.step(row) if row else None)
