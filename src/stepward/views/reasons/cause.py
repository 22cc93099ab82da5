"""The cause of a task's state in one sentence, which begins with the message of the application's error."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from stepward.client import TaskStatus
from stepward.model import failures
from stepward.model.failures import titled
from stepward.model.records import Step
from stepward.model.states import StepState, TaskState
from stepward.views.reasons.attempt_errors import attempts_of, has_message, one_line
from stepward.views.tasks import note_of


class Cause(Struct, frozen=True, kw_only=True):
    """The cause of a task's state."""

    sentence: str
    step: str | None = None
    """The key of the step that caused it."""
    run: int = 1
    place: str | None = None
    """File, line and function."""
    traceback: str | None = None
    attempts: list[str] = []
    """The errors of the failed attempts, oldest first."""


def cause_of(status: TaskStatus, steps: Sequence[Step]) -> Cause | None:
    """The cause of an error or an undo, or what a waiting task waits for; None if there is none."""
    error = status.error
    if error is None or not has_message(error) or status.state is TaskState.PROCESSED:
        note = note_of(status)
        return Cause(sentence=f"Waits for {note}") if note and status.state is TaskState.WAITING else None
    step = _step(error.get("step"), steps)
    own = failures.read(step.error) if step is not None and step.state is not StepState.COMPLETED else {}
    source = own if own.get("message") else error
    failure = error.get("failure")
    traceback = source.get("traceback") or (failure.get("traceback") if isinstance(failure, dict) else None)
    place = source.get("at") or (failure.get("at") if isinstance(failure, dict) else None)
    attempts = (
        [f"attempt {attempt.get('attempt', '?')}: {one_line(attempt)}" for attempt in attempts_of(own)] if own else []
    )
    return Cause(
        sentence=titled(error),
        step=None if step is None else step.key,
        run=1 if step is None else step.run,
        place=place if isinstance(place, str) else None,
        traceback=traceback if isinstance(traceback, str) else None,
        attempts=attempts if len(attempts) > 1 else [],
    )


def _step(key: object, steps: Sequence[Step]) -> Step | None:
    return max((step for step in steps if step.key == key), key=lambda step: step.run, default=None)
