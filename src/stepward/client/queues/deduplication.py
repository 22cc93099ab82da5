"""Deduplication of events: a queue may hold one twice, and an old one behind newer ones."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

TASKS_KEPT = 20_000
WIDEST_GAP = 1_000


@dataclass(slots=True)
class RunSeen:
    """The sequences of one task that were given: from the first to the last, but for the gaps."""

    first: int
    last: int
    gaps: set[int] = field(default_factory=set)

    def is_new(self, sequence: int) -> bool:
        """Whether that sequence was not given; it is now."""
        if self.first <= sequence <= self.last:
            known = sequence not in self.gaps
            self.gaps.discard(sequence)
            return not known
        if not self.first - WIDEST_GAP <= sequence <= self.last + WIDEST_GAP:
            self.first = self.last = sequence
            self.gaps.clear()
        elif sequence > self.last:
            self.gaps.update(range(self.last + 1, sequence))
            self.last = sequence
        else:
            self.gaps.update(range(sequence + 1, self.first))
            self.first = sequence
        return True


class EventsSeen:
    """By task; of very many, those without an event for longest are forgotten."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, RunSeen] = OrderedDict()

    def is_new(self, task: str, sequence: int) -> bool:
        """Whether this event of a task was not given before; it is now."""
        run = self._runs.get(task)
        if run is None:
            self._runs[task] = RunSeen(sequence, sequence)
            if len(self._runs) > TASKS_KEPT:
                self._runs.popitem(last=False)
            return True
        self._runs.move_to_end(task)
        return run.is_new(sequence)
