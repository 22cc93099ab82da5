"""The figures as a table beside their targets, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rich.console import Console
from rich.table import Table


class Target(NamedTuple):
    """What a figure should reach; ``at_most`` says which side is good."""

    value: float
    at_most: bool


Results = Mapping[str, Mapping[str, float]]
Targets = Mapping[tuple[str, str], Target]


def show(title: str, results: Results, targets: Targets) -> bool:
    """Print the table; whether every target was reached."""
    table = Table(title=title, title_justify="left")
    table.add_column("measure")
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("target", justify="right")
    table.add_column("")
    reached = True
    for measure, figures in results.items():
        for name, value in figures.items():
            target = targets.get((measure, name))
            met = target is None or (value <= target.value if target.at_most else value >= target.value)
            reached = reached and met
            table.add_row(measure, name, _number(value), _target(target), _mark(target, met=met))
        table.add_section()
    Console().print(table)
    return reached


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _target(target: Target | None) -> str:
    if target is None:
        return ""
    return f"{'≤' if target.at_most else '≥'} {_number(target.value)}"


def _mark(target: Target | None, *, met: bool) -> str:
    if target is None:
        return ""
    return "[green]✓[/]" if met else "[red]✗[/]"
