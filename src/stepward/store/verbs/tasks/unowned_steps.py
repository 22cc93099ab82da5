"""Steps that wait for an Agent's reply while no live instance holds their tasks."""

from __future__ import annotations

from collections.abc import Collection

from stepward.store import rows
from stepward.store.contract import UnownedSteps, WatchedPlace
from stepward.store.rules.steps.unowned_steps import collected, wanted_steps
from stepward.store.verbs.connection import VerbConnection


async def look(
    connection: VerbConnection, after: WatchedPlace, agents: Collection[str] | None, limit: int
) -> UnownedSteps:
    """Reads the steps in three statements; a change between them adds or omits a step."""
    asked_of = None if agents is None else sorted(agents)
    seen = await connection.rows("unowned_steps.look", *after, asked_of, limit)
    wanted = wanted_steps(seen)
    if not wanted:
        return collected(seen, limit, [], [])
    tasks = await connection.rows("unowned_steps.tasks", sorted({task for task, _, _ in wanted}))
    steps = await connection.rows_of_each("unowned_steps.steps", wanted)
    return collected(seen, limit, [rows.task(row) for row in tasks], [rows.step(row) for row in steps])
