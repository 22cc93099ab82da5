"""The acts that a task's state allows, each with its effect in words."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from stepward.errors import IllegalTransition
from stepward.model.effects import needs_undo
from stepward.model.records import Step, Task
from stepward.model.states import TaskState
from stepward.model.tasks.directives import DirectiveVerb, judge

ASKED = (DirectiveVerb.SUSPEND, DirectiveVerb.RESUME, DirectiveVerb.CANCEL, DirectiveVerb.UNDO)
NAMES = {
    "resubmit": "Resubmit",
    "undo": "Undo",
    "cancel": "Cancel",
    "suspend": "Suspend",
    "resume": "Resume",
    "mark_done": "Mark as done",
    "signal": "Send the signal",
    "update": "Ask for the update",
    "delete": "Delete",
}
"""The labels of the acts' buttons."""


class PossibleAct(Struct, frozen=True):
    """An act that the task's state allows, and its effect."""

    verb: str
    meaning: str


def possible_acts(task: Task, steps: Sequence[Step]) -> list[PossibleAct]:
    """The acts that would change the task now."""
    return [PossibleAct(verb.value, _meaning(verb, steps)) for verb in ASKED if _is_possible(verb, task)]


def taken_back(steps: Sequence[Step]) -> str:
    """The number of steps that an undo would reach."""
    count = sum(needs_undo(step) for step in steps)
    return f"{count:,} step{'' if count == 1 else 's'} will be taken back"


def _is_possible(verb: DirectiveVerb, task: Task) -> bool:
    try:
        verdict = judge(verb, task)
    except IllegalTransition:
        return False
    return verdict.by_owner or verdict.after is not task.state or task.state is TaskState.SUSPENDED


def _meaning(verb: DirectiveVerb, steps: Sequence[Step]) -> str:
    if verb is DirectiveVerb.UNDO:
        return taken_back(steps)
    if verb is DirectiveVerb.CANCEL:
        return f"stop, and undo what was done: {taken_back(steps)}"
    return "start nothing more of it until it is resumed" if verb is DirectiveVerb.SUSPEND else "go on"
