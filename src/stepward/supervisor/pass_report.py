"""The counts of one pass of the Supervisor."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class PassReport:
    """What one pass did; ``once`` returns the sum of several."""

    led: bool = False
    """Whether this instance was the leader; if not, all counts are zero."""
    forgave: bool = False
    fenced: int = 0
    freed: int = 0
    judged: int = 0
    """Steps decided on: repeated, failed, or their task undone."""
    released: int = 0
    """Dead instances whose slots under an Agent's limit were released."""
    expired_tasks: int = 0
    fired: int = 0
    """Tasks submitted for schedules."""
    batched: int = 0
    """Tasks asked for batches."""
    unserved: int = 0
    delivered: int = 0
    refused: int = 0
    posted: int = 0
    """Status events that webhooks took."""
    purged: int = 0

    @property
    def did_something(self) -> bool:
        """Whether another pass may find more to do; a refused alert has to wait anyway."""
        return replace(self, refused=0) != PassReport(led=self.led)

    def plus(self, other: PassReport) -> PassReport:
        """The sum of both; ``led`` as in the first."""
        return PassReport(
            led=self.led,
            forgave=self.forgave or other.forgave,
            fenced=self.fenced + other.fenced,
            freed=self.freed + other.freed,
            judged=self.judged + other.judged,
            released=self.released + other.released,
            expired_tasks=self.expired_tasks + other.expired_tasks,
            fired=self.fired + other.fired,
            batched=self.batched + other.batched,
            unserved=self.unserved + other.unserved,
            delivered=self.delivered + other.delivered,
            refused=self.refused + other.refused,
            posted=self.posted + other.posted,
            purged=self.purged + other.purged,
        )
