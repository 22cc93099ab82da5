"""The terminal, whose width output has. A pipe gets no colours, text of 80 columns, and tables that are never cut."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from stepward.cli.output.table import Cell, Column, table
from stepward.views.state_symbols import LOOKS, Tone

WIDTH = 80
NARROWEST = 40
UNBOUNDED = 1_000_000
"""The width of lines for programs: more cells than any line has."""

STYLES = {
    Tone.QUIET: "dim",
    Tone.WORK: "cyan",
    Tone.WAIT: "blue",
    Tone.HELD: "yellow",
    Tone.BACK: "magenta",
    Tone.GOOD: "green",
    Tone.BAD: "bold red",
}


def screen() -> Console:
    """A console on stdout; characters that its encoding lacks are escaped."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    terminal = sys.stdout.isatty()
    return Console(
        file=sys.stdout,
        width=_width(terminal),
        force_terminal=terminal,
        highlight=False,
        emoji=False,
        markup=False,
    )


def print_table(
    columns: Sequence[Column], rows: Sequence[Sequence[Cell]], empty: str, *, title: str | None = None
) -> None:
    """Print rows as a table, or the given words if there are none."""
    console = screen()
    if title is not None:
        console.print(Text(f"\n{title}", style="bold"))
    console.width = room()
    with console.capture() as drawn:
        console.print(table(columns, rows, console.width) if rows else Text(empty, style="dim"))
    for line in drawn.get().splitlines():
        console.file.write(f"{line.rstrip()}\n")


def state_cell(state: str) -> Cell:
    """A state with its sign, in its colour."""
    return Cell(f"{LOOKS[state].sign} {state}", style_of(state))


def style_of(state: str) -> str:
    """The colour of a state."""
    return STYLES[LOOKS[state].tone]


def room() -> int:
    """The width of a line about one thing: the terminal's; unlimited in a pipe."""
    return _width(True) if _wanted() or sys.stdout.isatty() else UNBOUNDED


def _width(terminal: bool) -> int:
    if wanted := _wanted():
        return max(NARROWEST, wanted)
    return max(NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns) if terminal else WIDTH


def _wanted() -> int:
    """The width that the environment asks for, if any."""
    wanted = os.environ.get("COLUMNS", "")
    return int(wanted) if wanted.isdecimal() else 0
