"""Faults of a message on its way, drawn from a seed, and counted."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

LONGEST_DELAY = 1.5
AT_ONCE = (0.0,)


@dataclass
class Mischief:
    """How often a message is lost, doubled or late; ``done`` counts what was brought about, by kind of message."""

    seed: int
    lost: float = 0.0
    doubled: float = 0.0
    late: float = 0.0
    is_over: bool = False
    done: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)

    def delays(self, kind: str) -> Sequence[float]:
        """After how many seconds each copy arrives; none: it is lost."""
        drawn = self._chance.random()
        if self.is_over or drawn >= self.lost + self.doubled + self.late:
            return AT_ONCE
        late = self._chance.uniform(0.05, LONGEST_DELAY)
        if drawn < self.lost:
            self.done[f"lost {kind}"] += 1
            return ()
        if drawn < self.lost + self.doubled:
            self.done[f"doubled {kind}"] += 1
            return (0.0, late)
        self.done[f"late {kind}"] += 1
        return (late,)

    def count(self, what: str) -> int:
        """How many were lost, doubled or late, of whatever kind."""
        return sum(number for name, number in self.done.items() if name.startswith(what))
