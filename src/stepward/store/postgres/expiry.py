"""Looks for steps past their complete-by, at a bounded number of rows however many wait that nobody can decide.

Steps of tasks that are suspended, or have no owner, stay past their complete-by for as long as that lasts. So a look
goes on where the last one ended, once among those that ran out since, and once around all the others.
"""

from __future__ import annotations

from typing import NamedTuple

from stepward.store import rulings
from stepward.store.contract import ExpiredStep
from stepward.store.postgres.connection import Connection, Row
from stepward.store.postgres.lane import Lane


class Place(NamedTuple):
    """Behind which step a look goes on."""

    complete_by: float
    task: str = ""
    run: int = 0
    key: str = ""


Found = dict[Place, ExpiredStep]
FIRST = Place(float("-inf"))


LOOKS = 100
"""Most looks at steps that ran out since the last call; once all that stood there are behind, one or two will do."""


class Expiry:
    """The two places of one store object."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._newest = FIRST
        self._around = FIRST

    async def steps(self, now: float, limit: int) -> list[ExpiredStep]:
        """Steps that can be decided on, the oldest first; at most ``limit``."""
        found = await self._fresh(now, limit)
        if len(found) < limit:
            others, behind, is_end = await self._look(self._around, now, limit)
            self._around = FIRST if is_end else behind
            found |= others
        return sorted(found.values(), key=lambda step: step.complete_by)[:limit]

    async def _fresh(self, now: float, limit: int) -> Found:
        if self._newest.complete_by > now:
            self._newest = FIRST  # The clock has gone back.
        found: Found = {}
        for _ in range(LOOKS):
            some, self._newest, is_end = await self._look(self._newest, now, limit)
            found |= some
            if is_end or len(found) >= limit:
                break
        return found

    async def _look(self, place: Place, now: float, limit: int) -> tuple[Found, Place, bool]:
        """What can be decided on of the steps behind a place, where to go on, and whether that was the end."""
        rows = await self._lane.read(Connection.rows, "supervisor.expired_steps", now, *place, limit)
        behind = Place(*rows[-1][:4]) if rows else place
        return {Place(*row[:4]): _step(row) for row in rows if row[4] is not None}, behind, len(rows) < limit


def _step(row: Row) -> ExpiredStep:
    complete_by, task, run, key, task_id, attempt, failures, kind, *rest = row
    return rulings.expired_step((task, task_id, run, key, attempt, failures, kind, complete_by, *rest))
