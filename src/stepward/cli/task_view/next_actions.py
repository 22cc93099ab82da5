"""The commands that do something about a task, each with what it does."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from rich.console import Console
from rich.text import Text

from stepward.cli.input.operator_store import command_line
from stepward.cli.output.text_width import cut, width_of
from stepward.views.actions.unchecked_choices import Choice
from stepward.views.printable import clean

INDENT = 2
GAP = 3


def print_advice(console: Console, actions: Sequence[Choice]) -> None:
    """Print what can be done next, if there is anything."""
    if not actions:
        return
    advice = [(command_line(*action.words), action.meaning) for action in actions]
    console.print(Text("\nWhat to do next", style="bold"))
    room = max(width_of(command) for command, _ in advice) + GAP
    beside = INDENT + room + max(width_of(meaning) for _, meaning in advice) <= console.width
    for command, meaning in advice:
        if beside:
            line = Text.assemble(" " * INDENT, (command.ljust(room), "cyan"), (clean(meaning), "dim"))
            console.print(line, soft_wrap=True)
        else:
            _print_below(console, command, meaning)


def _print_below(console: Console, command: str, meaning: str) -> None:
    """The meaning as a shell comment, the command below it."""
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
