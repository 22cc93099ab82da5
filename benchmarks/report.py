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


TARGETS = {
    ("throughput", "steps_per_s"): Target(15_000, False),
    ("throughput", "share_of_raw_limit"): Target(0.12, False),
    ("latency", "times_floor"): Target(3.0, True),
    ("latency", "commits_per_step_alone"): Target(1.25, True),
    ("submission", "submit_many_10000_s"): Target(1.0, True),
    ("accepting", "orders_per_s"): Target(2_000, False),
    ("telling", "telling_to_silent"): Target(0.7, False),
    ("clicking", "click_to_status_p95_ms"): Target(150, True),
    ("idle", "statements_per_s"): Target(3.0, True),
    ("memory, resident", "rss_mib"): Target(1024, True),
    ("memory, evicted", "rss_mib"): Target(150, True),
    ("takeover", "beyond_lease_s"): Target(5.0, True),
    ("growth", "million_times_thousand"): Target(1.2, True),
}


def show(results: Mapping[str, Mapping[str, float]]) -> bool:
    """Print the table; whether every target was reached."""
    table = Table(title="Stepward on SQLite, synchronous=FULL, one process", title_justify="left")
    table.add_column("measure")
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("target", justify="right")
    table.add_column("")
    reached = True
    for measure, figures in results.items():
        for name, value in figures.items():
            target = TARGETS.get((measure, name))
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
