"""Child tasks that failed, or that a task waits for, in ``show``."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from stepward.cli.input.operator_store import command_line
from stepward.cli.output.terminal import state_cell
from stepward.model.records import Task
from stepward.views.printable import clean


def print_children(console: Console, children: Sequence[Task]) -> None:
    """Print each child with its state and the command that shows it."""
    if not children:
        return
    console.print(Text("\nChildren that failed, or that it waits for", style="bold"))
    for child in children:
        state = state_cell(child.state)
        line = Text.assemble("  ", (state.text, state.style), f"  {clean(child.id)}  ")
        console.print(line.append(command_line("show", child.id), style="cyan"), soft_wrap=True)
