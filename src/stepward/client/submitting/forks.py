"""Forks: an ended task's record up to one of its steps, in a new task that goes on from there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from stepward.client.submitting import validation
from stepward.client.submitting.submissions import Preparation
from stepward.model.records import Step, Task
from stepward.store.contract import Fork
from stepward.store.rules.directives import forking


class ForkOptions(Struct, frozen=True, kw_only=True):
    """How a task is forked."""

    step: str
    args: Sequence[Any] | None = None
    """Other arguments of the workflow; None: those of the origin."""
    version: str | None = None
    """Another version of the workflow; None: that of the origin."""
    id: validation.Id | None = None
    undo_later: bool = False
    """Whether the fork first undoes what the origin did from that step on."""


async def forked(
    preparation: Preparation, origin: Task, steps: Sequence[Step], options: ForkOptions, *, uid: str, now: float
) -> Fork:
    """The fork with its rows. Raises IllegalTransition, UnknownWorkflow, InvalidArguments, InvalidId."""
    forking.check_origin(origin)
    first = forking.first_step(origin, steps, options.step)
    version = origin.version if options.version is None else options.version
    known = await preparation.known_version(origin.workflow, version)
    task = Task(
        uid=uid,
        id=uid if options.id is None else validation.task_id(options.id),
        workflow=origin.workflow,
        version=version,
        priority=origin.priority,
        fairness_key=origin.fairness_key,
        labels=origin.labels,
        attributes=origin.attributes,
        run=origin.run,
        input=origin.input if options.args is None else preparation.pack(known, tuple(options.args), {}),
        deadline=validation.deadline(None, known.complete_seconds, now),
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
