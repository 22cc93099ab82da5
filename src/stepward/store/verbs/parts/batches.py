"""The verbs of operators on batches."""

from __future__ import annotations

from stepward.store import rows
from stepward.store.contract import Batch
from stepward.store.verbs import batches
from stepward.store.verbs import connection as ask
from stepward.store.verbs.engine import VerbPart


class BatchVerbs(VerbPart):
    """Implements ``BatchStore``."""

    async def start_batch(self, batch: Batch) -> None:
        await self._transactions.write(batches.start, batch, self._clock.now())
        self._ring()

    async def batches(self, limit: int) -> list[Batch]:
        return [rows.batch(row) for row in await self._transactions.read(ask.rows, "batches.listed", limit)]

    async def batch(self, id: str) -> Batch | None:
        return await self._transactions.read(batches.one, id)

    async def steer_batch(self, id: str, act: str, actor: str, rate: float | None = None) -> Batch:
        steered = await self._transactions.write(batches.steer, id, act, actor, rate, self._clock.now())
        self._ring()
        return steered
