"""The state of a step in words."""

from __future__ import annotations

import json

from stepward.client.task_status import StepRecord
from stepward.model.states import StepState
from stepward.views.reasons.attempt_errors import one_line
from stepward.views.times import relative

LIVE = frozenset({StepState.RUNNING, StepState.TO_REPEAT})
LONGEST_RESULT = 500


def outcome_of(step: StepRecord, now: float, *, waits: bool) -> str:
    """The outcome of a step, or what it is doing; ``waits``: its task waits for code that matches its record."""
    parts = ["set aside"] if step.set_aside_at is not None else []
    parts += ["waits with its task for code that fits"] if waits and step.state in LIVE else []
    parts += ["in doubt"] if step.in_doubt and step.state is not StepState.UNDONE else []
    if step.progress is not None and step.state in LIVE:
        progress = f"progress {json.dumps(step.progress, ensure_ascii=False)} {relative(step.progress_at, now)}"
        parts.insert(0 if step.state is StepState.RUNNING else len(parts), progress)
    if step.deferred_at is not None and step.state is StepState.RUNNING:
        parts.append("waits to be finished from outside")
    if step.error is not None:
        parts.append(
            one_line(step.error)
            if isinstance(step.error, dict) and step.error.get("message")
            else json.dumps(step.error)
        )
    elif step.output is not None:
        parts.append(json.dumps(step.output, ensure_ascii=False)[:LONGEST_RESULT])
    return ": ".join(parts)
