"""The complete-by of a task's present work: the pattern's CompleteBy on the task's row (R22, R23).

It is set by the claim and moved by commits that start or end steps. It is never earlier than the latest complete-by of
the running steps, and at most a quarter and a second later, so that a run of short steps seldom writes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from stepward.model.records import Step, Task
from stepward.model.states import RUNNING, UNDO, StepState

CLAIM_SECONDS = 30.0
"""The complete-by of a claim, in seconds from then; the first commit after it knows the steps."""
TOO_FAR = 1.25
"""A complete-by is moved nearer when it is this many times as far away as needed."""


def of_claim(now: float) -> float:
    """The complete-by of a task that was claimed now, or of which nothing runs yet."""
    return float(math.ceil(now + CLAIM_SECONDS))


def of_attempt(step: Step, task: Task, now: float) -> float | None:
    """When an attempt that begins now must be complete: never later than its task, but an undo has its own time."""
    if step.complete_seconds is None:
        return None
    own = now + step.complete_seconds
    if task.deadline is None or step.kind is UNDO:
        return own
    return min(own, task.deadline)


def of_steps(steps: Iterable[Step]) -> float | None:
    """The latest complete-by of steps that run or are to be repeated, in whole seconds; None if there are none."""
    latest = latest_end(steps)
    return None if latest is None else float(math.ceil(latest))


def latest_end(steps: Iterable[Step]) -> float | None:
    """The same with fractions of a second."""
    latest: float | None = None
    for step in steps:
        end = step.complete_by if step.state is RUNNING else _end(step)
        if end is not None and (latest is None or end > latest):
            latest = end
    return latest


def nearest(written: float, now: float) -> float:
    """The earliest end of running steps for which the row's complete-by, ``written``, is still close enough."""
    return now + (written - now - 1) / TOO_FAR


def is_too_far(written: float, steps: Iterable[Step], now: float) -> bool:
    """Whether a step runs, and all running steps end much sooner than the row says."""
    least = nearest(written, now)
    found = False
    for step in steps:
        end = _end(step)
        if end is not None:
            found = True
            if end >= least:
                return False
    return found


def _end(step: Step) -> float | None:
    if step.state is RUNNING:
        return step.complete_by
    if step.state is StepState.TO_REPEAT and step.repeat_at is not None and step.complete_seconds is not None:
        return step.repeat_at + step.complete_seconds
    return None
