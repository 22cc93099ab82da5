"""The parts of the store that batches have: operators start and steer them, the leading Supervisor carries them out."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from stepward.store.contract.values.batches import Batch


class BatchPiece(Struct, frozen=True):
    """What one transaction did of a batch."""

    batch: Batch
    """The batch after it."""
    acts: int
    """How many tasks were asked, those that refused included."""


class BatchStore(Protocol):
    """What operators may do with batches."""

    async def start_batch(self, batch: Batch) -> None:
        """Keep a new batch, and audit it."""
        ...

    async def has_arriving_shard(self) -> bool:
        """Whether the store has parts of a shard that has not arrived: copies of tasks that no batch finds."""
        ...

    async def batches(self, limit: int) -> list[Batch]:
        """The batches, newest first."""
        ...

    async def batch(self, id: str) -> Batch | None:
        """The batch of that id."""
        ...

    async def steer_batch(self, id: str, act: str, actor: str, rate: float | None = None) -> Batch:
        """``pause``, ``resume``, ``stop``, or ``pace`` it with another rate; audited.

        Raises BatchNotFound, or IllegalTransition where its state does not allow it.
        """
        ...


class BatchWork(Protocol):
    """What the leading Supervisor may do with batches."""

    async def running_batches(self, limit: int) -> list[Batch]:
        """Batches that run, the one that waits longest first."""
        ...

    async def advance_batch(self, term: int, batch: Batch) -> BatchPiece | None:
        """Ask the next tasks, as many as the rate allows: acts and cursor in one commit.

        None if the batch has changed since it was read, or another instance leads.
        """
        ...
