"""What every part of a store that is made of verbs has."""

from __future__ import annotations

from stepward.store.verbs.engine import VerbEngine


class VerbPart:
    """A part of one store object, which runs its verbs on an engine."""

    def __init__(self, engine: VerbEngine) -> None:
        self._transactions = engine.others
        self._clock = engine.clock
        self._ring = engine.ring

    def now(self) -> float:
        return self._clock.now()

    def jumped(self) -> float:
        return self._clock.jumped()
