"""The record of a task that is forked from another: what was there when one of its steps was asked for, and no more.

What the origin did remains its own: its effects are undone with the origin, unless the fork is to undo the later ones
first.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from msgspec.structs import replace

from stepward.errors import IllegalTransition
from stepward.model.effects import LEFT_OPEN, SET_ASIDE, may_have_acted, needs_undo, undo_step
from stepward.model.pipeline_plan import NO_INPUT
from stepward.model.records import Step, Task
from stepward.model.states import TASK_ENDS, StepKind, StepState
from stepward.model.tasks.forks import PROVENANCE, Provenance, inherited_by_forks, provenance_step
from stepward.payload.sealed import why_unopened
from stepward.store.rules.directives.concerned_steps import OWN, asked_before, is_live

ENDED = frozenset({StepState.COMPLETED, StepState.FAILED})
NAMED = 3
"""Most steps that a refusal names."""


def check_origin(origin: Task) -> None:
    """Raises IllegalTransition for a task that has not ended."""
    if origin.state not in TASK_ENDS:
        raise IllegalTransition(
            f"fork of task {origin.id}: expected a task that has ended, found it {origin.state}; cancel it first, or "
            "wait for its end"
        )


def first_step(origin: Task, steps: Sequence[Step], key: str) -> Step:
    """The step from which a fork goes on. Raises IllegalTransition for a key that the run does not have."""
    live = _live(origin, steps)
    found = next((step for step in live if step.key == key), None)
    if found is not None:
        return found
    if any(step.key == key and step.run != origin.run for step in steps):
        why = f"found one of a former run; the last one is run {origin.run}"
    else:
        near = difflib.get_close_matches(key, [step.key for step in live], n=NAMED)
        why = f"found none; did you mean {' or '.join(near)}?" if near else "found none; look at the task's steps"
    raise IllegalTransition(f"fork of task {origin.id}: expected a step {key[:200]!r} of its record, {why}")


def taken_over(origin: Task, steps: Sequence[Step], first: Step, task: Task) -> list[Step]:
    """The rows of ``task`` that ``origin`` had when ``first`` was asked for, behind one that says where they come from.

    Raises IllegalTransition for a row whose outcome does not hold any more, or that another task would have to give.
    """
    live = _live(origin, steps)
    seed, began_at = inherited_by_forks(origin, steps)
    provenance = Provenance(origin=origin.id, origin_uid=origin.uid, step=first.key, seed=seed, began_at=began_at)
    kept = [_kept(origin, live, step, first, task) for step in live if step.number < first.number]
    return [provenance_step(task, provenance), *(step for step in kept if step is not None)]


def later_effects(origin: Task, steps: Sequence[Step], first: Step) -> list[Step]:
    """What the origin did from ``first`` on and has not undone. Raises IllegalTransition for what cannot be undone."""
    live = [step for step in _live(origin, steps) if step.number >= first.number]
    later = [step for step in live if needs_undo(step) or (step.irreversible and may_have_acted(step))]
    barred = [step.key for step in later if step.irreversible or step.kind is StepKind.CHILD]
    if barred:
        raise IllegalTransition(
            f"fork of task {origin.id}: expected later steps that this undoes first, found {', '.join(barred[:NAMED])}"
            ", child tasks or irreversible; undo child tasks by themselves, and fork without undo_later"
        )
    return later


def undone_first(later: Sequence[Step], task: Task) -> list[Step]:
    """Rows of ``task`` that have it undo these effects before it goes on."""
    rows: list[Step] = []
    for step in later:
        aside = replace(
            step,
            task=task.uid,
            key=f"{step.key}{SET_ASIDE}1",
            set_aside_at=task.created_at,
            watched=False,
            repeat_at=None,
            deferred_at=None,
        )
        rows += [aside, replace(undo_step(aside), input=NO_INPUT)]
    return rows


def released(step: Step) -> Step:
    """The row of the origin once another task undoes its effect."""
    return replace(step, has_undo=False)


def _live(origin: Task, steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if is_live(step, origin.run) and step.key != PROVENANCE]


def _kept(origin: Task, live: list[Step], step: Step, first: Step, task: Task) -> Step | None:
    """The row as it was when ``first`` was asked for; None if there was none."""
    was_delivered = step.ordinal is not None and asked_before(live, step) < first.number
    if not was_delivered and step.kind in OWN:
        return None
    _check_held(origin, step, first)
    row = replace(
        step,
        task=task.uid,
        # It never ran in this task: nothing of it is undone with it.
        started_at=None,
        has_undo=False,
        irreversible=False,
        in_doubt=False,
        watched=False,
        repeat_at=None,
        deferred_at=None,
        complete_by=None,
    )
    if was_delivered:
        return row
    if step.state in ENDED:
        return replace(row, ordinal=None, asked=None)
    return _open(origin, step, first, row)


def _check_held(origin: Task, step: Step, first: Step) -> None:
    if step.state is StepState.UNDONE and step.ordinal is not None:
        raise IllegalTransition(
            f"fork of task {origin.id} from {first.key}: expected the steps before it to stand, found {step.key} "
            "undone; fork from that step, or from one before"
        )
    for payload in (step.input, step.output, step.error):
        why = None if payload is None else why_unopened(payload)
        if why is not None:
            raise IllegalTransition(
                f"fork of task {origin.id} from {first.key}: expected the payloads of {step.key}, found that {why}; "
                "fork from a step before it, or where they can be read"
            )


def _open(origin: Task, step: Step, first: Step, row: Step) -> Step:
    """A step that was under way then, or was given up by then: the code gives it up again, or waits for it again."""
    if step.kind is StepKind.CHILD:
        raise IllegalTransition(
            f"fork of task {origin.id} from {first.key}: expected the child tasks before it to have ended, found "
            f"{step.key} {step.state}; fork from that step, or from one before"
        )
    return replace(
        row,
        state=StepState.NOT_STARTED,
        attempt=0,
        failure_count=0,
        output=None,
        error=None,
        finished_at=None,
        ordinal=None,
        asked=LEFT_OPEN,
        has_undo=step.has_undo,
        irreversible=step.irreversible,
    )
