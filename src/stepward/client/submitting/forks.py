"""Forks: an ended task's record up to one of its steps, in a new task that goes on from there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from stepward.client.submitting import submission_checks
from stepward.client.submitting.submissions import Preparation
from stepward.durations import shown
from stepward.errors import InvalidArguments, Refused, TaskConflict
from stepward.model.records import Step, Task
from stepward.model.tasks.forks import provenance_of
from stepward.store.contract import Fork
from stepward.store.rules.directives import forking


class ForkOptions(Struct, frozen=True, kw_only=True):
    """How a task is forked."""

    step: str
    args: Sequence[Any] | None = None
    """Other arguments of the workflow; None: those of the origin."""
    version: str | None = None
    """Another version of the workflow; None: that of the origin."""
    id: submission_checks.Id | None = None
    undo_later: bool = False
    """Whether the fork first undoes what the origin did from that step on."""


async def forked(
    preparation: Preparation, origin: Task, steps: Sequence[Step], options: ForkOptions, *, uid: str, now: float
) -> Fork:
    """The fork with its rows. Raises IllegalTransition, UnknownWorkflow, InvalidArguments, InvalidId, Refused."""
    _check_options(options)
    forking.check_origin(origin)
    first = forking.first_step(origin, steps, options.step)
    version = origin.version if options.version is None else options.version
    known = await preparation.known_version(origin.workflow, version)
    task = Task(
        uid=uid,
        id=uid if options.id is None else submission_checks.task_id(options.id),
        workflow=origin.workflow,
        version=version,
        priority=origin.priority,
        fairness_key=origin.fairness_key,
        labels=origin.labels,
        attributes=origin.attributes,
        run=origin.run,
        input=origin.input if options.args is None else preparation.pack(known, tuple(options.args), {}),
        deadline=submission_checks.deadline(None, known.complete_seconds, now),
        created_at=now,
    )
    rows = forking.taken_over(origin, steps, first, task)
    later = forking.later_effects(origin, steps, first) if options.undo_later else []
    return Fork(
        origin=origin,
        step=first.key,
        task=task,
        steps=[*rows, *forking.undone_first(later, task)],
        released=[forking.released(step) for step in later],
    )


def check_same_fork(asked: Fork, task: Task, steps: Sequence[Step]) -> None:
    """Raises TaskConflict for a task of the fork's id that is not a fork of the same task from the same step."""
    found = provenance_of(steps)
    if found is None and task.run > asked.task.run:
        # The record of its first run may be gone.
        return
    if found is None or (found.origin_uid, found.step) != (asked.origin.uid, asked.step):
        raise TaskConflict(
            f"id {task.id!r}: expected a new id, or that of a fork of task {asked.origin.id} from {asked.step}, found "
            "another task or fork; choose another id"
        )


def _check_options(options: ForkOptions) -> None:
    for what, text in (("from_step", options.step), ("version", options.version)):
        if text is not None and not isinstance(text, str):
            raise Refused(f"{what}: expected a text, found {shown(text)}; give one")
    if options.step is None:
        raise Refused("from_step: expected the key of a step, found None; give one")
    args: object = options.args
    if args is not None and (isinstance(args, str | bytes) or not isinstance(args, Sequence)):
        raise InvalidArguments(f"args: expected a list of the workflow's arguments, found {shown(args)}; write […]")
    if not isinstance(options.undo_later, bool):
        raise Refused(f"undo_later: expected True or False, found {shown(options.undo_later)}; give one of them")
