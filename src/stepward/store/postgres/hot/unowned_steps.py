"""Steps that are asked of Agents while no live instance holds their tasks."""

from __future__ import annotations

from collections.abc import Collection

from stepward.store import rows
from stepward.store.contract import Unheld, WatchedPlace
from stepward.store.postgres.engine.columns import columns_of
from stepward.store.postgres.engine.connection import Connection
from stepward.store.rules.unowned_steps import collected, wanted_steps


async def look(connection: Connection, after: WatchedPlace, agents: Collection[str] | None, limit: int) -> Unheld:
    """Finds unanswered requests; a change between the statements makes one too many or too few."""
    seen = await connection.rows("unowned_steps.look", *after, None if agents is None else list(agents), limit)
    wanted = wanted_steps(seen)
    if not wanted:
        return collected(seen, limit, [], [])
    tasks = await connection.rows("unowned_steps.tasks", list({task for task, _, _ in wanted}))
    steps = await connection.rows("unowned_steps.steps", *columns_of(wanted))
    return collected(seen, limit, [rows.task(row) for row in tasks], [rows.step(row) for row in steps])
