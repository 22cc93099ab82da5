"""What an operator can do next about a task: the exact commands."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from stepward.cli.cells import clean, cut, width_of
from stepward.cli.operator import command_line
from stepward.client import TaskStatus
from stepward.errors import InvalidPayload
from stepward.model.records import Task
from stepward.model.states import TaskState

INDENT = 2
GAP = 3
SIGNAL = "signal "

Advice = list[tuple[str, str]]
"""Commands, each with what it does."""


def print_advice(console: Console, record: Task, status: TaskStatus) -> None:
    """Print what can be done next, if it needs somebody to do something."""
    advice = _advice(record, status)
    if not advice:
        return
    console.print(Text("\nWhat to do next", style="bold"))
    room = max(width_of(command) for command, _ in advice) + GAP
    beside = INDENT + room + max(width_of(meaning) for _, meaning in advice) <= console.width
    for command, meaning in advice:
        if beside:
            line = Text.assemble(" " * INDENT, (command.ljust(room), "cyan"), (clean(meaning), "dim"))
            console.print(line, soft_wrap=True)
        else:
            _print_below(console, command, meaning)


def _advice(record: Task, status: TaskStatus) -> Advice:
    id = record.id
    if status.state is TaskState.ERROR:
        return _of_error(id, status, undoing=record.undo_to is not None)
    if status.state is TaskState.SUSPENDED:
        return [(command_line("resume", id), "go on"), (command_line("cancel", id), "stop, and undo what was done")]
    waits_for = status.waits_for or ""
    if status.state is TaskState.WAITING and waits_for.startswith(SIGNAL):
        name = waits_for.removeprefix(SIGNAL).partition(",")[0]
        return [(command_line("signal", id, name, "JSON"), "give it what it waits for")]
    return []


def _of_error(id: str, status: TaskStatus, *, undoing: bool) -> Advice:
    step = str((status.error or {}).get("step") or "")
    if not step and not undoing and _is_of_result(status):
        return [(command_line("undo", id), "undo what was done")]
    onward = "go on undoing" if undoing else "go on with what is recorded"
    advice = [(command_line("resubmit", id), f"repeat {step}" if step else onward)]
    if step and not undoing:
        advice.append((command_line("resubmit", id, "--input", "[…]"), "repeat it with other arguments"))
    if step:
        advice.append((command_line("mark-done", id, step, "JSON"), "somebody did it by hand: this is the result"))
    if not undoing:
        advice.append((command_line("undo", id), "undo what was done"))
    return advice


def _is_of_result(status: TaskStatus) -> bool:
    """Whether a recorded result is not of the type that the workflow reads: it would read it again."""
    error = status.error or {}
    message = str(error.get("message") or "")
    is_own = message.startswith(f"result of {status.workflow}:")
    return error.get("type") == InvalidPayload.__name__ and message.startswith("result of ") and not is_own


def _print_below(console: Console, command: str, meaning: str) -> None:
    """The meaning as a shell's comment, the command below it."""
    comment = cut(f"{' ' * INDENT}# {clean(meaning)}", console.width)
    console.print(Text(comment, style="dim"), soft_wrap=True)
    for piece in _folded(f"{' ' * INDENT}{command}", console.width):
        console.print(Text(piece, style="cyan"), soft_wrap=True)


def _folded(command: str, width: int) -> list[str]:
    """The command in pieces that a shell joins again: a backslash at each end but the last."""
    pieces = []
    while len(command) > width:
        pieces.append(command[: width - 1] + "\\")
        command = command[width - 1 :]
    return [*pieces, command]
