"""The effect of directives on a task's rows: pure rules, the same in every store.

A step whose failure the workflow caught cannot be repeated while the record goes on behind that failure: the record is
rewound to it. What was asked for after its outcome was delivered is set aside: the row stays, under another key, and
what it did is undone first or kept, as the operator says. A step whose attempt is in doubt is settled in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from stepward.model.effects import place_name
from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.store.contract import Directive
from stepward.store.rules.directives import allowed_directives
from stepward.store.rules.directives.concerned_steps import (
    failed_children,
    is_repeated_with_it,
    later_steps,
    named_step,
    was_told_later,
)
from stepward.store.rules.directives.repair_rows import Repair, RepairWork


def resubmission(
    task: Task, steps: Sequence[Step], directive: Directive, children: Mapping[str, Task], now: float
) -> Repair:
    """What a resubmission does. Raises IllegalTransition, with the choices, for what needs an operator's word."""
    if task.state is not TaskState.ERROR:
        # Its code does not fit its record: it is tried again, and no step that has an outcome is repeated.
        allowed_directives.check_retry(task, directive)
        return Repair()
    allowed_directives.check_deadline(task, directive, now)
    if directive.failed_children:
        return _with_failed_children(task, steps, directive, children, now)
    step = named_step(task, steps, directive)
    allowed_directives.check_resubmit(task, directive, step)
    work = RepairWork(task, steps, directive, children, now)
    if step is not None and step.state is StepState.FAILED:
        settled = work.settle_doubt(step)
        work.rewind(step)
        work.repeat(step, new_generation=settled)
    elif step is not None and allowed_directives.is_taken_signal(step):
        work.rewind(step)
        work.drop(step)
    _repeat_too(work, task, steps)
    work.repair.step = step.key if step else None
    return work.repair


def _with_failed_children(
    task: Task, steps: Sequence[Step], directive: Directive, children: Mapping[str, Task], now: float
) -> Repair:
    """Repeats the child steps that failed, from the first failure that the workflow received on."""
    failed = failed_children(task, steps, children)
    first = allowed_directives.check_failed_children(task, directive, failed)
    work = RepairWork(task, steps, directive, children, now)
    later = later_steps(task, steps, first)
    work.rewind(first)
    for step in failed:
        if step not in later:
            # What was delivered after the first failure is not delivered again but repeated.
            work.repair.rows.pop((step.run, step.key), None)
            work.repeat(step)
            work.repair.dropped.append(place_name(step))
    _repeat_too(work, task, steps)
    work.repair.step = first.key
    return work.repair


def _repeat_too(work: RepairWork, task: Task, steps: Sequence[Step]) -> None:
    for other in steps:
        if is_repeated_with_it(task, other) and (other.run, other.key) not in work.repair.rows:
            work.repeat_too(other)


def marking(task: Task, steps: Sequence[Step], directive: Directive, now: float) -> Repair:
    """What mark_done does. Raises IllegalTransition for a step that cannot be marked."""
    allowed_directives.check_deadline(task, directive, now)
    named = named_step(task, steps, directive)
    is_last = named is not None and not any(was_told_later(step, named) for step in steps)
    step = allowed_directives.check_mark(task, named, is_last=is_last)
    work = RepairWork(task, steps, directive, {}, now)
    work.rewind(step)
    done = replace(
        step,
        state=StepState.COMPLETED,
        output=directive.result if directive.result is not None else b"null",
        error=None,
        ordinal=None,
        asked=None,
        in_doubt=False,
        watched=False,
        repeat_at=None,
        finished_at=now,
    )
    work.write(step, done)
    work.repair.step = step.key
    return work.repair


def undoing(task: Task, steps: Sequence[Step], directive: Directive, now: float) -> Repair:
    """What undo and cancel do to the rows of a task in error: an undo that failed is repeated."""
    work = RepairWork(task, steps, directive, {}, now)
    for step in steps:
        if step.kind is StepKind.UNDO and step.state is StepState.FAILED:
            work.repeat_too(step)
    return work.repair
