"""The queues of dead instances, looked at in turn: brokers have no list of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

AT_ONCE = 10
"""Most queues looked at in one call: each costs some round trips."""


class EndedQueueTurns:
    """Chooses queues that were not looked at yet first, then those whose last look is oldest."""

    def __init__(self) -> None:
        self._turn = 0
        self._looked: dict[str, int] = {}
        """The turn of the last look at each queue."""

    def due(self, dead: Collection[str]) -> Sequence[str]:
        """The queues to look at now."""
        self._turn += 1
        self._looked = {queue: self._looked.get(queue, 0) for queue in dead}
        chosen = sorted(dead, key=self._looked.__getitem__)[:AT_ONCE]
        self._looked |= dict.fromkeys(chosen, self._turn)
        return chosen
