"""Who is next for room: the highest priority, then fairness keys in turn, then first come. Pure; each act is short."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator

BacklogKey = tuple[str, int, str]
"""Who holds a place, or waits for one: task, run and key of a step."""
Key = str | None
"""What tasks are kept fair between; None is a key like any other."""


class Backlog:
    """The steps that wait for room at one Agent, each once."""

    __slots__ = ("_rings", "lines")

    def __init__(self) -> None:
        self._rings: dict[int, OrderedDict[Key, OrderedDict[BacklogKey, None]]] = {}
        """By priority the keys that wait, whose turn is next first; each with its steps, first come first."""
        self.lines: dict[BacklogKey, tuple[int, Key]] = {}
        """Who waits, at which priority and under which key."""

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def highest(self) -> int | None:
        """The highest priority that waits."""
        return max(self._rings, default=None)

    @property
    def lowest(self) -> int | None:
        """The lowest priority that waits."""
        return min(self._rings, default=None)

    def push(self, place: BacklogKey, priority: int, key: Key) -> None:
        """Let a step wait; one that waits already keeps its place."""
        if place in self.lines:
            return
        self.lines[place] = priority, key
        ring = self._rings.get(priority)
        if ring is None:
            ring = self._rings[priority] = OrderedDict()
        line = ring.get(key)
        if line is None:
            line = ring[key] = OrderedDict()
        line[place] = None

    def first(self) -> BacklogKey:
        """Who is next; there is somebody."""
        ring = self._rings[max(self._rings)]
        return next(iter(next(iter(ring.values()))))

    def pop(self) -> BacklogKey:
        """Take who is next, there is somebody; the turn passes to the next key."""
        place = self.first()
        priority, key = self.lines[place]
        self._rings[priority].move_to_end(key)
        self.discard(place)
        return place

    def discard(self, place: BacklogKey) -> None:
        """The step waits no more, if it did."""
        priority, key = self.lines.pop(place, (None, None))
        if priority is None:
            return
        ring = self._rings[priority]
        del ring[key][place]
        if not ring[key]:
            del ring[key]
            if not ring:
                del self._rings[priority]

    def crowd(self, priority: int) -> Counter[Key]:
        """How many steps of each key wait at that priority."""
        return Counter({key: len(line) for key, line in self._rings.get(priority, {}).items()})

    def last_come(self, priority: int, key: Key) -> Iterator[BacklogKey]:
        """The steps of a key that wait at that priority, who came last first; nobody may come or go meanwhile."""
        ring = self._rings.get(priority)
        return iter(()) if ring is None or key not in ring else reversed(ring[key])
