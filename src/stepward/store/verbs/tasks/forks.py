"""Forks: a new task with its record, in the transaction that looks whether the origin is still as it was read."""

from __future__ import annotations

from msgspec.structs import astuple

from stepward.errors import IllegalTransition
from stepward.model.records import Task
from stepward.store import rows
from stepward.store.contract import Fork, Submitted
from stepward.store.rules import refusals
from stepward.store.rules.audit import audited_acts
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.tasks import new_tasks


async def fork(connection: VerbConnection, origin: Task, asked: Fork, now: float) -> Submitted:
    """Forks a locked task. Raises IllegalTransition, TaskConflict."""
    read = asked.origin
    if (origin.uid, origin.state, origin.finished_at) != (read.uid, read.state, read.finished_at):
        raise IllegalTransition(
            f"fork of task {origin.id}: expected it as it was read, {read.state}, found it {origin.state} by now; "
            "look at it again"
        )
    submitted = await new_tasks.begin_with(connection, asked.task, asked.steps)
    if not submitted.same:
        raise refusals.id_taken(submitted.id)
    if submitted.created and asked.released:
        await _check_held(connection, origin, asked)
    if submitted.created:
        await connection.change_each(
            "directives.delete_step", [(step.task, step.run, step.key) for step in asked.released]
        )
        await connection.change_each("turn.insert_step", [astuple(step) for step in asked.released])
        await alerts_and_audit.write_audits(connection, audited_acts.fork_audits(asked), now)
    return submitted


async def _check_held(connection: VerbConnection, origin: Task, asked: Fork) -> None:
    """Raises IllegalTransition if another fork has taken over the undo of a step since the origin was read."""
    found = [rows.step(row) for row in await connection.rows("directives.steps", origin.uid)]
    held = {(step.run, step.key) for step in found if step.has_undo}
    taken = [step.key for step in asked.released if (step.run, step.key) not in held]
    if taken:
        raise IllegalTransition(
            f"fork of task {origin.id}: expected later steps that no other fork undoes, found {taken[0]} undone by one "
            "by now; look at the task again"
        )
