"""The rest of a run: a copy of its state store, to be looked at in the console."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw

from stepward.cli.commands.console import PORT
from stepward.model.alerts.console_links import task_href

ROOT = Path(__file__).parents[1]
KEPT = Path("build/demo/orders.db")
CONSOLE = f"http://127.0.0.1:{PORT}"
TELLING = (
    (
        "select id from stepward_task where state = 'undone' order by failure_count desc, uid limit 1",
        "undone, the newest step first",
    ),
    (
        "select t.id from stepward_audit as a join stepward_task as t on t.uid = a.task where a.act = 'repeat' "
        "group by t.uid order by count(*) desc, t.uid limit 1",
        "most repeated by the Supervisor",
    ),
    (
        "select id from stepward_task where recovery_count > 0 and state = 'processed' order by uid limit 1",
        "ended by another Scheduler",
    ),
)
"""Queries for the id of a task, and what its page shows."""


def keep(folder: Path) -> str | None:
    """Copy the store of a run that has ended, in place of the one before; its address, or None without a file."""
    source = folder / "orders.db"
    if not source.exists():
        return None
    target = ROOT / KEPT
    target.parent.mkdir(parents=True, exist_ok=True)
    for old in target.parent.glob(f"{target.name}*"):
        old.unlink()
    with (
        closing(apsw.Connection(str(source))) as here,
        closing(apsw.Connection(str(target))) as there,
        there.backup("main", here, "main") as copy,
    ):
        copy.step()
    return f"sqlite:///{KEPT}"


def pages(store: Path = ROOT / KEPT) -> list[tuple[str, str]]:
    """The console's pages that show the most of what happened, each with what it shows."""
    with closing(apsw.Connection(str(store))) as rows:
        found = [(sql, rows.execute(sql).fetchone(), what) for sql, what in TELLING]
    tasks = [(f"{CONSOLE}{task_href(row[0])}", what) for _, row, what in found if row is not None]
    return [(f"{CONSOLE}/", "the flow of all orders"), *tasks, (f"{CONSOLE}/audit", "every decision")]
