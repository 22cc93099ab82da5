"""Rows that a repair concerns: those after a step, those in doubt, those that are repeated with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stepward.model.effects import asked_as, is_in_doubt, key_of, may_have_acted, never_ran, undo_key
from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.store.contract import Directive
from stepward.store.rules.directives import allowed_directives

BESIDE = frozenset({StepKind.LOCAL, StepKind.TRANSACTION})
OWN = frozenset({StepKind.TIMER, StepKind.SIGNAL})
"""Outcomes that the engine records itself: what waits for one has no row."""


def concerned_children(steps: Iterable[Step], directive: Directive) -> list[str]:
    """The uids of the child tasks on whose state a repair may depend."""
    states = {StepState.FAILED, StepState.ABANDONED} | ({StepState.RUNNING} if directive.failed_children else set())
    return [key_of(step) for step in steps if step.kind is StepKind.CHILD and step.state in states]


def failed_children(task: Task, steps: Iterable[Step], children: Mapping[str, Task]) -> list[Step]:
    """The child steps of the run that failed, in the order in which the workflow received their failures.

    Those whose child task failed when the workflow was over already, and which still are under way, come last.
    """
    found = [s for s in steps if s.run == task.run and s.kind is StepKind.CHILD and s.set_aside_at is None]
    failed = [s for s in found if s.state is StepState.FAILED or _has_failed(s, children.get(key_of(s)))]
    return sorted(failed, key=lambda s: (s.ordinal is None, s.ordinal or 0, s.number))


def _has_failed(step: Step, child: Task | None) -> bool:
    has_ended = child is not None and (child.state is TaskState.ERROR or child.state in allowed_directives.UNDONE)
    return step.state is StepState.RUNNING and has_ended


def named_step(task: Task, steps: Iterable[Step], directive: Directive) -> Step | None:
    """The step that a directive means: the one of its key in the latest run that has it, else the one to blame."""
    key = directive.step or allowed_directives.blamed(task)
    found = [step for step in steps if step.key == key]
    return allowed_directives.chosen_step(task, directive, max(found, key=lambda step: step.run, default=None))


def later_steps(task: Task, steps: Iterable[Step], step: Step) -> list[Step]:
    """The steps that the workflow requested, or whose outcome it received, only after the outcome of ``step``."""
    if not is_replayed(task, step):
        return []
    live = replayed(steps, step)
    asked = asked_before(live, step)
    return [
        s
        for s in live
        if s is not step and (s.number > asked or (s.kind in OWN and (s.ordinal or 0) > (step.ordinal or 0)))
    ]


def doubtful(steps: Iterable[Step], step: Step) -> list[Step]:
    """The generations of a step whose attempts are in doubt, and not being undone."""
    every = list(steps)
    known = {(s.run, s.key) for s in every}
    return [
        s
        for s in every
        if (s.run, asked_as(s)) == (step.run, asked_as(step))
        and (s is step or s.set_aside_at is not None)
        and (is_in_doubt(s) or (s.kind not in (StepKind.OPERATION, StepKind.CHILD) and s.in_doubt))
        and (s.run, undo_key(s)) not in known
    ]


def has_effect(step: Step) -> bool:
    """Whether the step did or may have done something that replaying it does not."""
    return may_have_acted(step) or (step.kind in BESIDE and not never_ran(step) and step.state is not StepState.FAILED)


def is_replayed(task: Task, step: Step) -> bool:
    """Whether a replay delivers the step's outcome again; a task that is being undone replays nothing."""
    return task.undo_to is None and step.ordinal is not None and step.run == task.run and step.kind is not StepKind.UNDO


def replayed(steps: Iterable[Step], step: Step) -> list[Step]:
    """The steps of its run that a replay meets; what is planned, or was done by hand before it was asked for, has no
    input."""
    return [s for s in steps if is_live(s, step.run)]


def is_live(step: Step, run: int) -> bool:
    """Whether a replay of that run meets the step."""
    return step.run == run and step.set_aside_at is None and step.kind is not StepKind.UNDO and bool(step.input)


def is_repeated_with_it(task: Task, step: Step) -> bool:
    """Whether it ran out of time without its outcome being delivered, or is an undo that failed."""
    if step.state is not StepState.FAILED or step.set_aside_at is not None:
        return False
    return step.kind is StepKind.UNDO or (step.run == task.run and step.ordinal is None and step.in_doubt)


def was_told_later(step: Step, than: Step) -> bool:
    """Whether the outcome of ``step`` was delivered after that of ``than``."""
    return step.run == than.run and step.set_aside_at is None and (step.ordinal or 0) > (than.ordinal or 0)


def asked_before(live: list[Step], step: Step) -> int:
    """How much had been asked for when the step's outcome was delivered; older rows tell it by their instants."""
    if step.asked is not None:
        return step.asked
    until = step.finished_at or 0.0
    before = [
        s.number for s in live if s.started_at is not None and s.started_at < until and not _is_told_after(s, step)
    ]
    return max([step.number, *before])


def _is_told_after(s: Step, step: Step) -> bool:
    return s.kind in OWN and (s.ordinal or 0) > (step.ordinal or 0)
