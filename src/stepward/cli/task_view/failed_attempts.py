"""The errors of failed attempts, below the steps of ``show``: each with its exception, the last with its traceback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from stepward.client.task_status import StepRecord
from stepward.model.states import StepState
from stepward.views.printable import clean
from stepward.views.reasons.attempt_errors import attempts_of, has_message, one_line

MOST_STEPS = 5
"""Most steps whose attempts are shown, the latest ones."""
ENDED_WELL = frozenset({StepState.COMPLETED, StepState.SKIPPED})
INDENT = 2


def print_attempts(console: Console, steps: Sequence[StepRecord]) -> None:
    """Print the errors of failed attempts of steps, if there are any."""
    failed = [step for step in steps if step.state not in ENDED_WELL and has_message(step.error)]
    if not failed:
        return
    console.print(Text("\nFailed attempts", style="bold"))
    for step in failed[-MOST_STEPS:]:
        _print_step(console, step)
    if len(failed) > MOST_STEPS:
        console.print(Text(f"  {len(failed) - MOST_STEPS} more steps: see `stepward steps`", style="dim"))


def _print_step(console: Console, step: StepRecord) -> None:
    error = step.error
    _print(console, 1, step.key if step.run == 1 else f"{step.run}: {step.key}", "")
    for attempt in [*attempts_of(error)]:
        _print(console, 2, f"attempt {attempt.get('attempt', step.attempt)}: {one_line(attempt)}", "red")
    _print_traceback(console, 3, error)


def print_own_traceback(console: Console, error: dict[str, Any] | None) -> None:
    """Print where the workflow's own code raised the task's error, if it did."""
    if error is not None and error.get("traceback") and not error.get("step"):
        console.print(Text("\nTraceback", style="bold"))
        _print_traceback(console, 1, error)


def _print_traceback(console: Console, depth: int, error: dict[str, Any]) -> None:
    traceback = error.get("traceback")
    for line in traceback.splitlines() if isinstance(traceback, str) else ():
        _print(console, depth, line, "dim")


def _print(console: Console, depth: int, line: str, style: str) -> None:
    text = Text(clean(line), style=style, overflow="fold")
    console.print(Padding(text, (0, 0, 0, depth * INDENT)))
