"""Reads steps past their complete-by, a bounded number of rows at a time, however many cannot be decided yet.

Steps of tasks that are suspended, or have no owner, stay past their complete-by as long as that lasts. So each read
continues where the last one ended, once among newly expired steps, and once around all others.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from stepward.store.contract import ExpiredStep

ExpiryCursor = tuple[Any, ...]
"""Behind which step a look goes on: its complete-by, and what orders the steps of one complete-by."""
ExpirySeen = tuple[ExpiryCursor, ExpiredStep | None]
"""A step that was looked at, with what the judge needs if it can be decided on."""
ExpiryLook = Callable[[ExpiryCursor, float, int], Awaitable[Sequence[ExpirySeen]]]
"""The first steps behind a place that ran out by an instant, so many at most."""

LOOKS = 100
"""Most looks at steps that ran out since the last call; once all that stood there are behind, one or two will do."""


class Expiry:
    """The two places of one store object."""

    def __init__(self, look: ExpiryLook, first: ExpiryCursor) -> None:
        self._see = look
        self._first = self._newest = self._around = first

    async def steps(self, now: float, limit: int) -> list[ExpiredStep]:
        """Steps that can be decided on, the oldest first; at most ``limit``."""
        found = await self._fresh(now, limit)
        if len(found) < limit:
            others, behind, is_end = await self._look(self._around, now, limit)
            self._around = self._first if is_end else behind
            found |= others
        return sorted(found.values(), key=lambda step: step.complete_by)[:limit]

    async def _fresh(self, now: float, limit: int) -> dict[ExpiryCursor, ExpiredStep]:
        if self._newest[0] > now:
            self._newest = self._first  # The clock has gone back.
        found: dict[ExpiryCursor, ExpiredStep] = {}
        for _ in range(LOOKS):
            some, self._newest, is_end = await self._look(self._newest, now, limit)
            found |= some
            if is_end or len(found) >= limit:
                break
        return found

    async def _look(
        self, place: ExpiryCursor, now: float, limit: int
    ) -> tuple[dict[ExpiryCursor, ExpiredStep], ExpiryCursor, bool]:
        """The decidable steps after a position, the position to continue at, and whether it was the end."""
        seen = await self._see(place, now, limit)
        behind = seen[-1][0] if seen else place
        return {where: step for where, step in seen if step is not None}, behind, len(seen) < limit
