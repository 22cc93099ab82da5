"""The effect of a directive on a task, by its state and whether it has an owner: pure rules.

A task without an owner is moved at once; an owner gets a row in the task's inbox and moves the task itself.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from stepward.errors import IllegalTransition
from stepward.model.records import Task
from stepward.model.states import TASK_MOVES, TaskState
from stepward.model.tasks.stopped_tasks import is_stopped

T = TaskState


class DirectiveVerb(StrEnum):
    """Directives of operators and applications for a task."""

    UNDO = "undo"
    CANCEL = "cancel"
    SUSPEND = "suspend"
    RESUME = "resume"
    RESUBMIT = "resubmit"
    MARK_DONE = "mark_done"


class DirectiveVerdict(Struct, frozen=True):
    """The effect: the state after it; with ``by_owner`` the owner moves the task when it reads its inbox."""

    after: TaskState
    undo_to: TaskState | None = None
    by_owner: bool = False


FROM: dict[DirectiveVerb, frozenset[TaskState]] = {
    DirectiveVerb.UNDO: frozenset({T.PENDING, T.PROCESSING, T.WAITING, T.SUSPENDED, T.ERROR, T.PROCESSED}),
    DirectiveVerb.CANCEL: frozenset({T.PENDING, T.PROCESSING, T.WAITING, T.SUSPENDED, T.ERROR}),
    DirectiveVerb.SUSPEND: frozenset({T.PENDING, T.PROCESSING, T.WAITING}),
    DirectiveVerb.RESUME: frozenset({T.SUSPENDED}),
    DirectiveVerb.RESUBMIT: frozenset({T.ERROR}),
    DirectiveVerb.MARK_DONE: frozenset({T.ERROR}),
}
"""The states in which each directive has an effect."""

SETTLED: dict[DirectiveVerb, frozenset[TaskState]] = {
    DirectiveVerb.UNDO: frozenset({T.UNDOING, T.UNDONE}),
    DirectiveVerb.CANCEL: frozenset({T.UNDOING, T.CANCELLED}),
    DirectiveVerb.SUSPEND: frozenset({T.SUSPENDED}),
}
"""The states in which a directive has already taken effect, or will: asking again changes nothing."""

TRIED = frozenset({T.PENDING, T.PROCESSING, T.WAITING})
"""The states of a task that is stopped because its code does not fit its record, or is being tried again."""

CARRIED_OUT_BY_OWNER = frozenset({DirectiveVerb.UNDO, DirectiveVerb.CANCEL, DirectiveVerb.SUSPEND})
"""The directives for a task that has an owner."""


def judge(verb: str, task: Task) -> DirectiveVerdict:
    """The effect of ``verb`` on the task in its present state; raises IllegalTransition if the state forbids it."""
    asked = _verb(verb, task)
    if task.state in SETTLED.get(asked, frozenset()):
        return DirectiveVerdict(task.state, task.undo_to)
    if asked is DirectiveVerb.RESUBMIT and is_stopped(task) and task.state in TRIED:
        # The code is tried again; a task that can be claimed or is held is being tried already.
        return DirectiveVerdict(
            T.PENDING if task.state is T.WAITING and task.locked_by is None else task.state, task.undo_to
        )
    if task.state not in FROM[asked]:
        raise _illegal(asked, task, f"a task that is {_either(FROM[asked])}")
    if task.locked_by is None:
        return _moved(asked, task)
    if asked not in CARRIED_OUT_BY_OWNER:
        raise _illegal(asked, task, "a task that no Scheduler is working on")
    return DirectiveVerdict(task.state, task.undo_to, by_owner=True)


def _verb(verb: str, task: Task) -> DirectiveVerb:
    try:
        return DirectiveVerb(verb)
    except ValueError:
        names = ", ".join(DirectiveVerb)
        raise IllegalTransition(f"task {task.id}: expected one of {names}, found {verb!r}; use one of them") from None


def _moved(verb: DirectiveVerb, task: Task) -> DirectiveVerdict:
    if verb is DirectiveVerb.SUSPEND:
        return DirectiveVerdict(T.SUSPENDED, task.undo_to)
    if verb is DirectiveVerb.CANCEL:
        return _cancelled(task)
    if verb is DirectiveVerb.UNDO:
        return DirectiveVerdict(T.UNDOING, T.UNDONE)
    return DirectiveVerdict(T.UNDOING if task.undo_to else T.PENDING, task.undo_to)


def _cancelled(task: Task) -> DirectiveVerdict:
    """A task that never started has nothing to undo; a child's end is left to a Scheduler, which informs the parent."""
    never_started = task.state is T.PENDING and task.started_at is None and task.parent is None
    return DirectiveVerdict(T.CANCELLED if never_started else T.UNDOING, T.CANCELLED)


def _illegal(verb: DirectiveVerb, task: Task, expected: str) -> IllegalTransition:
    return IllegalTransition(f"{verb} of task {task.id}: expected {expected}, found it {_standing(task)}; {_way(task)}")


def _standing(task: Task) -> str:
    return f"{task.state} by {task.locked_by}" if task.locked_by else task.state.value


def _way(task: Task) -> str:
    reachable = [verb.value for verb in DirectiveVerb if _is_possible(verb, task)]
    return f"possible now: {', '.join(reachable)}" if reachable else "nothing can be asked of it any more"


def _is_possible(verb: DirectiveVerb, task: Task) -> bool:
    if verb is DirectiveVerb.RESUBMIT and is_stopped(task):
        return task.state in TRIED or task.state in FROM[verb]
    return task.state in FROM[verb] and (not task.locked_by or verb in CARRIED_OUT_BY_OWNER)


def _either(states: frozenset[TaskState]) -> str:
    ordered = [state.value for state in TASK_MOVES if state in states]
    return " or ".join(filter(None, [", ".join(ordered[:-1]), ordered[-1]]))
