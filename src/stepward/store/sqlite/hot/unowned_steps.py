"""Steps that are asked of Agents while no live instance holds their tasks."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from stepward.store import rows
from stepward.store.contract import Unheld, WatchedPlace
from stepward.store.queries import load_queries
from stepward.store.rules.unowned_steps import collected, wanted_steps
from stepward.store.sqlite.engine.connection import Connection
from stepward.store.sqlite.engine.parameters import FRAGMENTS

Q = load_queries(__package__, "unowned_steps.sql", FRAGMENTS)


def look(connection: Connection, after: WatchedPlace, agents: Collection[str] | None, limit: int) -> Unheld:
    """Implements ``SchedulerStore.unheld``."""
    wanted_agents = None if agents is None else _json(sorted(agents))
    seen = connection.rows(Q["look"], (*after, wanted_agents, limit))
    wanted = wanted_steps(seen)
    tasks = connection.rows(Q["tasks"], (_json(sorted({task for task, _, _ in wanted})),))
    steps = connection.rows(Q["steps"], (_json(wanted),))
    return collected(seen, limit, [rows.task(row) for row in tasks], [rows.step(row) for row in steps])


def _json(values: Any) -> str:
    """An array as SQLite's json_each takes it: bytes would be read as its binary form."""
    return msgspec.json.encode(values).decode()
