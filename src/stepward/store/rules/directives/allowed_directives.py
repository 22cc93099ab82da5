"""Directives that a task and its steps allow, and the arguments that each needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepward.errors import IllegalTransition
from stepward.model import failures
from stepward.model.effects import key_of
from stepward.model.records import Step, Task
from stepward.model.states import STEP_MOVES, StepKind, StepState, TaskState
from stepward.payload import readable
from stepward.store.contract import (
    Directive,
    Doubt,
)

AT_WORK = frozenset({StepState.RUNNING, StepState.TO_REPEAT})
UNDONE = frozenset({TaskState.UNDONE, TaskState.CANCELLED})
TASK_EXPIRED = "TaskExpired"
"""The type of the error of a task that was not done by its own deadline."""


def blamed(task: Task) -> str | None:
    """The step that the task's error names."""
    error: Any = failures.read(task.error)
    if error.get("cause") and task.undo_to is None:
        # Undo was barred: what is to be mended is what it was begun for.
        error = error["cause"]
    step = error.get("step") if isinstance(error, dict) else None
    return step if isinstance(step, str) else None


def wrong_state(task: Task, step: Step, verb: str, expected: str) -> IllegalTransition:
    """The step stands where the directive cannot be carried out."""
    return IllegalTransition(
        f"{verb} of step {step.key} of task {task.id}: expected it {expected}, found it {step.state}; "
        "choose another step"
    )


def chosen_step(task: Task, directive: Directive, step: Step | None) -> Step | None:
    """Of the step found by the directive's key, or by the one that the task's error names, what is meant."""
    if directive.step is None:
        return step if step is not None and step.state is StepState.FAILED else None
    if step is None:
        raise IllegalTransition(
            f"{directive.verb} of task {task.id}: expected a step {directive.step}, found none; "
            "look at the task's steps"
        )
    return step


def check_retry(task: Task, directive: Directive) -> None:
    """Raise IllegalTransition where a resubmission names a step of a task whose code does not fit its record."""
    found = directive.step or _of_a_step(directive)
    if found is not None:
        raise IllegalTransition(
            f"resubmit of task {task.id}: expected nothing of a step, because its code does not fit its record and "
            f"is only tried again; found {found}; leave it out"
        )


def _of_a_step(directive: Directive) -> str | None:
    """What the directive says that has a meaning for a step alone."""
    if directive.later is not None:
        return f"a word on what was done later (later={directive.later})"
    return _of_step_alone(directive)


def _of_step_alone(directive: Directive) -> str | None:
    if directive.input is not None:
        return "an edited input"
    return None if directive.doubt is None else f"a word on attempts in doubt (doubt={directive.doubt})"


def check_resubmit(task: Task, directive: Directive, step: Step | None) -> None:
    """Raise IllegalTransition for what is said of a step where none is repeated, or one that cannot be repeated."""
    given = _of_a_step(directive)
    if step is None and given is not None:
        raise IllegalTransition(
            f"resubmit of task {task.id}: expected a step for {given}, found none that its error names; "
            "name it (step=…)"
        )
    if step is not None:
        _check_repeatable(task, directive, step)
        _check_count(task, directive, step)
    if step is None or step.state is StepState.FAILED or (is_taken_signal(step) and directive.input is None):
        return
    if step.state not in AT_WORK or directive.input is not None:
        raise wrong_state(task, step, "resubmit", "failed")


def _check_repeatable(task: Task, directive: Directive, step: Step) -> None:
    """What a later generation stands for is only undone; and once undo has begun, nothing goes forward."""
    whose = f"resubmit of step {step.key} of task {task.id}"
    if step.set_aside_at is not None:
        raise IllegalTransition(
            f"{whose}: expected a step of the record, found one that is set aside; name the step that took its place, "
            "or its undo"
        )
    if task.undo_to is not None and directive.input is not None and step.kind is not StepKind.UNDO:
        raise IllegalTransition(
            f"{whose}: expected no edited input once the task's undo has begun, found one; resubmit without it, or "
            "give the step's result with mark_done"
        )


def _check_count(task: Task, directive: Directive, step: Step) -> None:
    """Refuse an edited input with more or fewer arguments than are recorded: all of them, with their defaults, are."""
    edited, recorded = readable(directive.input), readable(step.input)
    if isinstance(edited, list) and isinstance(recorded, list) and len(edited) != len(recorded):
        raise IllegalTransition(
            f"resubmit of step {step.key} of task {task.id}: expected an edited input of as many arguments as the "
            f"step was asked for with, {len(recorded)}, found {len(edited)}; give all of them"
        )


def check_child(task: Task, step: Step, directive: Directive, child: Task | None) -> Task:
    """The child task with which a resubmitted step goes on; raises IllegalTransition where there is none."""
    if child is not None and child.state is TaskState.UNDOING:
        raise IllegalTransition(
            f"resubmit of step {step.key} of task {task.id}: expected its child {child.id} to have ended, found it "
            "being undone; resubmit again when it is undone"
        )
    if child is None or directive.input is not None:
        found = "a new input" if directive.input is not None else "its record gone"
        raise IllegalTransition(
            f"resubmit of step {step.key} of task {task.id}: expected a child task to go on with, found {found}; "
            "submit another task, and mark the step as done"
        )
    return child


def check_failed_children(task: Task, directive: Directive, failed: Sequence[Step]) -> Step:
    """The first of the failed children. Raises IllegalTransition where there is none, or a step is meant too."""
    whose = f"resubmit of task {task.id}"
    found = directive.step or _of_step_alone(directive)
    if found is not None:
        raise IllegalTransition(
            f"{whose}: expected no step beside failed_children, found {found}; leave one of both out"
        )
    if task.undo_to is not None:
        raise IllegalTransition(
            f"{whose}: expected failed children of a task that is not being undone, found its undo begun; resubmit it "
            "without failed_children to continue the undo"
        )
    if not failed:
        raise IllegalTransition(
            f"{whose}: expected failed child tasks, found none; resubmit it without failed_children"
        )
    return failed[0]


def is_taken_signal(step: Step) -> bool:
    """Whether the workflow was given a signal: an operator may have it wait for another instead."""
    return step.kind is StepKind.SIGNAL and step.state is StepState.COMPLETED and step.set_aside_at is None


def check_deadline(task: Task, directive: Directive, now: float) -> None:
    """Raise IllegalTransition where a task past its own deadline would go on without a new one."""
    if directive.deadline is None and is_past_deadline(task, now):
        raise IllegalTransition(
            f"{directive.verb} of task {task.id}: expected it within its own complete-by, found that past; "
            "give it a new one (complete_by=…)"
        )


def is_past_deadline(task: Task, now: float) -> bool:
    """Whether the task's own time is over; no deadline reaches what is being undone."""
    is_late = task.deadline is not None and task.deadline <= now
    return task.undo_to is None and (is_late or _error_type(task) == TASK_EXPIRED)


def _error_type(task: Task) -> object:
    return failures.read(task.error).get("type")


def check_doubt(task: Task, directive: Directive, step: Step, found: Sequence[Step]) -> None:
    """Raise IllegalTransition, with the choices, where attempts in doubt are not settled by what the operator says."""
    names = ", ".join(key_of(each).removeprefix(f"{task.uid}/") for each in found)
    whose = f"{directive.verb} of step {step.key} of task {task.id}"
    can_undo = all(each.has_undo for each in found)
    by_hand = "look whether it happened: say so with did_not_happen, or give its result with mark_done"
    if directive.doubt is None:
        choices = f"undo it first (doubt=undo), or {by_hand}" if can_undo else by_hand
        raise IllegalTransition(
            f"{whose}: expected no attempt in doubt under the old input, found {names} maybe done; {choices}"
        )
    if directive.doubt is Doubt.UNDO and not can_undo:
        raise IllegalTransition(f"{whose}: expected an undo of what is in doubt, found none of {names}; {by_hand}")


def check_later(task: Task, directive: Directive, step: Step, acted: Sequence[Step]) -> None:
    """Raises IllegalTransition, with the choices, where a repair would set aside executed steps without a choice for
    them."""
    if acted and directive.later is None:
        names = ", ".join(each.key for each in acted)
        raise IllegalTransition(
            f"{directive.verb} of step {step.key} of task {task.id}: expected no steps after its delivered failure, "
            f"found {names}, which would be set aside; say whether to undo that first (later=undo) or keep it "
            "(later=keep)"
        )


def check_mark(task: Task, step: Step | None, *, is_last: bool) -> Step:
    """The step to be marked as done; ``is_last``: nothing was delivered to the workflow after its result."""
    if step is None:
        raise IllegalTransition(f"mark_done of task {task.id}: expected a step that failed, found none; name the step")
    is_last_done = step.state is StepState.COMPLETED and (is_last or is_taken_signal(step))
    if StepState.COMPLETED not in STEP_MOVES[step.state] and not is_last_done:
        raise wrong_state(task, step, "mark_done", "one that has not ended well")
    return step
