"""What may be asked of a task as it stands, beside what it needs: each act with its effect in words."""

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
}
"""Acts as buttons say them."""


class PossibleAct(Struct, frozen=True):
    """An act that the task's state allows, and what it does."""

    verb: str
    meaning: str


def possible_acts(task: Task, steps: Sequence[Step]) -> list[PossibleAct]:
    """The acts that change something now."""
    return [PossibleAct(verb.value, _meaning(verb, steps)) for verb in ASKED if _is_possible(verb, task)]


def taken_back(steps: Sequence[Step]) -> str:
    """How many steps an undo would take back."""
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
