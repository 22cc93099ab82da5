"""What an operator can do next about a task: the exact commands."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from rich.console import Console
from rich.text import Text

from stepward.cli.input.operator_store import command_line
from stepward.cli.output.text_width import clean, cut, width_of
from stepward.client import Client, TaskStatus, session_of, would_work
from stepward.model.records import Step, Task
from stepward.views.choices import Choice, choices, variants

INDENT = 2
GAP = 3

NextActions = list[tuple[str, str]]
"""Commands, each with what it does."""


async def advise(client: Client, record: Task, status: TaskStatus) -> NextActions:
    """What can be done next about a task that needs somebody to do something: only what the store would carry out."""
    steps = await session_of(client).store.client.steps(record.id)
    found: NextActions = []
    for choice in choices(record, status, steps):
        found += await _working(client, record, steps, choice)
    return found


def print_advice(console: Console, advice: NextActions) -> None:
    """Print what can be done next, if there is anything."""
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


async def _working(client: Client, record: Task, steps: Sequence[Step], choice: Choice) -> NextActions:
    """The choice without options if that works, else once for each option that makes it work."""
    for among in variants(record, choice, session_of(client).store.now()):
        found: NextActions = []
        for one in among:
            if one.directive is None or await would_work(session_of(client).store.client, record, steps, one.directive):
                found.append((command_line(*one.words), one.meaning))
        if found:
            return found
    return []


def _print_below(console: Console, command: str, meaning: str) -> None:
    """The meaning as a shell's comment, the command below it."""
    lead = f"{' ' * INDENT}# "
    for line in wrap(clean(meaning), console.width - len(lead)):
        console.print(Text(cut(f"{lead}{line}", console.width), style="dim"), soft_wrap=True)
    for piece in _folded(f"{' ' * INDENT}{command}", console.width):
        console.print(Text(piece, style="cyan"), soft_wrap=True)


def _folded(command: str, width: int) -> list[str]:
    """The command in pieces that a shell joins again: a backslash at each end but the last."""
    pieces = []
    while len(command) > width:
        pieces.append(command[: width - 1] + "\\")
        command = command[width - 1 :]
    return [*pieces, command]
