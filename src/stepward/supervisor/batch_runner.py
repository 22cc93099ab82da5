"""Batches: the leading Supervisor asks their tasks, oldest first, as fast as each batch's rate allows."""

from __future__ import annotations

from collections.abc import Callable

from stepward.events import Observers
from stepward.store.contract import Batch, BatchState, BatchWork

MOST_AT_ONCE = 20
"""Batches that one pass works on; others wait for their turn."""
PIECES = 4
"""Transactions of one batch in a pass."""
SHORTEST_PAUSE = 0.25
"""Least seconds between two passes for the sake of batches."""


class BatchRunner:
    """Carries batches out for a Supervisor."""

    def __init__(self, store: BatchWork, observers: Observers, failpoint: Callable[[str], None]) -> None:
        self._store = store
        self._observers = observers
        self._failpoint = failpoint
        self.pause: float | None = None
        """Most seconds until the next pass, as batches run; None while none does."""
        self.locked: tuple[Batch, ...] = ()
        """Running batches whose parameters are encrypted with a key that this process lacks."""

    async def run(self, term: int, running: int) -> int:
        """Ask what may be asked now; how many tasks were asked."""
        self.pause = None
        batches = await self._store.running_batches(MOST_AT_ONCE) if running else []
        self.locked = tuple(batch for batch in batches if batch.parameters.is_sealed)
        acts = sum([await self._work(term, batch) for batch in batches if batch not in self.locked])
        if batches:
            self.pause = SHORTEST_PAUSE
        return acts

    async def _work(self, term: int, batch: Batch) -> int:
        total = 0
        for _ in range(PIECES):
            self._failpoint("batch.advance.before")
            piece = await self._store.advance_batch(term, batch)
            self._failpoint("batch.advance.after")
            if piece is None or piece.batch == batch:
                break
            total += piece.acts
            batch = piece.batch
            if batch.state is BatchState.DONE:
                self._observers.emit("batch.done", batch=batch.id, done=batch.done, refused=batch.refused)
                break
        return total
