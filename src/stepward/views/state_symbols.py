"""The sign and the tone of each state; a state is never shown by colour alone."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from stepward.model.states import StepState, TaskState


class Tone(StrEnum):
    """The severity of a state; each screen has a colour for it."""

    QUIET = "quiet"
    """Inactive, and nothing is wrong."""
    WORK = "work"
    WAIT = "wait"
    HELD = "held"
    """Stopped until an operator or a condition lets it continue."""
    BACK = "back"
    """Undoing or undone."""
    GOOD = "good"
    BAD = "bad"


class Look(NamedTuple):
    """The sign and the tone of a state."""

    sign: str
    tone: Tone


LOOKS: dict[str, Look] = {
    TaskState.PENDING: Look("○", Tone.QUIET),
    TaskState.PROCESSING: Look("●", Tone.WORK),
    TaskState.WAITING: Look("◌", Tone.WAIT),
    TaskState.SUSPENDED: Look("=", Tone.HELD),
    TaskState.UNDOING: Look("←", Tone.BACK),
    TaskState.PROCESSED: Look("✓", Tone.GOOD),
    TaskState.UNDONE: Look("←", Tone.BACK),
    TaskState.CANCELLED: Look("×", Tone.QUIET),
    TaskState.ERROR: Look("✗", Tone.BAD),
    StepState.NOT_STARTED: Look("○", Tone.QUIET),
    StepState.RUNNING: Look("●", Tone.WORK),
    StepState.TO_REPEAT: Look("↻", Tone.HELD),
    StepState.COMPLETED: Look("✓", Tone.GOOD),
    StepState.FAILED: Look("✗", Tone.BAD),
    StepState.ABANDONED: Look("×", Tone.HELD),
    StepState.SKIPPED: Look("-", Tone.QUIET),
    "alive": Look("✓", Tone.GOOD),
    "ended": Look("-", Tone.QUIET),
    "dead": Look("✗", Tone.BAD),
}
"""By state."""
