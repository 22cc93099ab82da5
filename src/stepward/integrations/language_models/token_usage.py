"""The tokens of a task's finished turns, summed and published as the live value ``usage``."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from stepward.model.action import Caller, current_caller
from stepward.workflow.live_values import publish

USAGE = "usage"
"""The name of the live value."""

_sums: WeakKeyDictionary[Caller, dict[str, int]] = WeakKeyDictionary()
"""The sums of each execution of workflow code; a replay counts the recorded turns again."""


def count_turn(input_tokens: int, output_tokens: int) -> None:
    """Add a finished turn to what the task has used; outside of workflow code nothing is counted."""
    caller = current_caller()
    if caller is None:
        return
    sums = _sums.setdefault(caller, {"requests": 0, "input_tokens": 0, "output_tokens": 0})
    sums["requests"] += 1
    sums["input_tokens"] += input_tokens
    sums["output_tokens"] += output_tokens
    publish(USAGE, sums)
