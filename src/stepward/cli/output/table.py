"""Tables that fit: no row is wrapped, cells are cut at the terminal's width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from stepward.cli.output.text_width import cut, cut_middle, width_of
from stepward.views.printable import clean
from stepward.views.times import NOTHING

GAP = 2
SAYS_NOTHING = frozenset({"", "0", NOTHING})


class Cell(NamedTuple):
    """A text with its style."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column; one with ``least`` may be cut down to that many cells."""

    name: str
    least: int | None = None
    middle: bool = False
    """Whether it is cut in the middle instead of at the end."""
    right: bool = False
    spare: bool = False
    """Whether it is left out where room is short and no row has a value in it."""
    drops: int = 0
    """Left out where nothing else makes the table fit, the highest number first; 0 is never left out."""


def table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], room: int) -> Table:
    """The rows as a table of at most ``room`` cells."""
    cleaned = [[Cell(clean(cell.text), cell.style) for cell in row] for row in rows]
    kept = _kept(columns, cleaned, room)
    columns = [columns[n] for n in kept]
    cleaned = [[row[n] for n in kept] for row in cleaned]
    widths = _fitted(columns, _natural(columns, cleaned, room), room)
    drawn = Table(
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, GAP - 1, 0, 0),
        header_style="bold",
        border_style="dim",
    )
    for column, width in zip(columns, widths, strict=True):
        drawn.add_column(
            Text(cut(column.name, width)),
            width=width,
            no_wrap=True,
            justify="right" if column.right else "left",
        )
    for row in cleaned:
        drawn.add_row(*(_drawn(*each) for each in zip(columns, row, widths, strict=True)))
    return drawn


def _drawn(column: Column, cell: Cell, width: int) -> Text:
    return Text((cut_middle if column.middle else cut)(cell.text, width), style=cell.style)


def _kept(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], room: int) -> list[int]:
    everything = list(range(len(columns)))
    if _taken(_natural(columns, rows, room)) <= room:
        return everything
    kept = [n for n in everything if not columns[n].spare or any(row[n].text not in SAYS_NOTHING for row in rows)]
    for n in sorted((n for n in kept if columns[n].drops), key=lambda n: columns[n].drops, reverse=True):
        if _least(columns, rows, room, kept) <= room:
            break
        kept.remove(n)
    return kept


def _least(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], room: int, kept: Sequence[int]) -> int:
    """The width of these columns when each is cut as far as possible."""
    natural = _natural(columns, rows, room)
    return _taken([min(natural[n], columns[n].least or natural[n]) for n in kept])


def _natural(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], room: int) -> list[int]:
    return [
        min(room, max([width_of(column.name), *(width_of(row[n].text) for row in rows)]))
        for n, column in enumerate(columns)
    ]


def _fitted(columns: Sequence[Column], widths: list[int], room: int) -> list[int]:
    """Take the excess width from the widest column that may be cut, cell by cell."""
    for _ in range(_taken(widths) - room):
        able = [n for n, c in enumerate(columns) if c.least is not None and widths[n] > c.least]
        if not able:
            break
        widths[max(able, key=widths.__getitem__)] -= 1
    return widths


def _taken(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)
