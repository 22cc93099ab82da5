"""Samples of how many tasks are in each live state: rows of tasks hold only their present state."""

from __future__ import annotations

import msgspec

from stepward.model.states import TaskState
from stepward.store.contract.by_subject.overview import MOST_SAMPLED, StateSample
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.figures.overview import COUNTED


async def counted(connection: VerbConnection) -> dict[str, int]:
    """The present counts by state, without states that have no task."""
    found = {TaskState.PROCESSING: await connection.row("overview.processing", MOST_SAMPLED)}
    for state in COUNTED:
        found[state] = await connection.row("overview.listed", state.value, MOST_SAMPLED)
    return {state.value: row[0] for state, row in found.items() if row is not None and row[0]}


async def record(connection: VerbConnection, counts: dict[str, int], kept_since: float, now: float) -> bool:
    """Writes a sample in place of those that are too old, or from a clock that was set back since."""
    await connection.change("overview.forget_samples", kept_since, now)
    await connection.change("overview.sample", now, msgspec.json.encode(counts).decode())
    return True


async def read(connection: VerbConnection, since: float, seconds: float, now: float) -> list[StateSample]:
    """The first sample of each bucket of so many seconds."""
    rows = await connection.rows("overview.samples", since, seconds, now)
    return [StateSample(at, msgspec.json.decode(counts, type=dict[str, int])) for at, counts in rows]
