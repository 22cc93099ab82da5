"""The gauges of a store for metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from stepward.model.agents import AgentStanding
from stepward.model.records import Instance
from stepward.store import rows
from stepward.store.contract import StoreGauges
from stepward.store.verbs import agents
from stepward.store.verbs.connection import VerbConnection, VerbRow

MOST_COUNTED = 100_000
"""The bound at which each count stops."""


async def read(connection: VerbConnection, now: float, dead_since: float) -> StoreGauges:
    """The gauges at ``now``; instances that died before ``dead_since`` are left out."""
    found = await connection.rows("gauges.read", now, MOST_COUNTED)
    instances = [rows.instance(row) for row in await connection.rows("client.instances", dead_since)]
    return store_gauges(found, now, instances, await agents.standings(connection))


def store_gauges(
    found: Sequence[VerbRow], now: float, instances: list[Instance], standings: list[AgentStanding]
) -> StoreGauges:
    """The gauges from rows of kind, name and value."""
    kinds: dict[str, dict[str, float]] = defaultdict(dict)
    for kind, name, value in found:
        if value is not None:
            kinds[kind][name] = value
    return StoreGauges(
        now=now,
        tasks=_counts(kinds["tasks"]),
        oldest_tasks={state: max(0.0, now - created_at) for state, created_at in kinds["oldest_task"].items()},
        alerts=_counts(kinds["alerts"]),
        dead_letters=int(kinds["dead_letters"].get("", 0)),
        expired_steps=int(kinds["expired_steps"].get("", 0)),
        queues=_counts(kinds["queue"]),
        has_leader=bool(kinds["leader"]),
        schema_version=int(kinds["schema_version"].get("", 0)),
        instances=instances,
        standings=standings,
    )


def _counts(named: dict[str, float]) -> dict[str, int]:
    return {name: int(value) for name, value in named.items()}
