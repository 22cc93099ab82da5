"""The history of counts of live tasks, which the leader records each minute for operators."""

from __future__ import annotations

from stepward.store.contract import SupervisorStore

SAMPLE_EVERY = 60.0
"""Seconds between two samples."""
KEPT_SECONDS = 8 * 24 * 3600.0
"""Seconds for which a sample is kept: a week, and a day to compare it with."""


class StateHistory:
    """Records samples at intervals, while this Supervisor leads."""

    def __init__(self, store: SupervisorStore) -> None:
        self._store = store
        self._sample_at = 0.0

    async def look(self, term: int) -> None:
        """Record a sample, unless it is too early."""
        now = self._store.now()
        if now < self._sample_at:
            return
        await self._store.sample_states(term, now - KEPT_SECONDS)
        self._sample_at = now + SAMPLE_EVERY
