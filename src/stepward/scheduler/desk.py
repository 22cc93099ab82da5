"""Dispatch by room: a window for each Agent, and the backlog of steps that have none, highest priority first."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping

from stepward.model.records import Step

LOCAL = "(local)"
"""The pseudo-Agent whose window bounds local steps."""
STARVED_AFTER = 30.0
"""Seconds without any room for an Agent that steps wait for, before an operator is told."""
Place = tuple[str, int, str]
"""Who holds a place: task, run and key of a step."""


class Window:
    """How many requests an Agent may hold of this Scheduler, and which it holds."""

    __slots__ = ("backlog", "capacity", "starved_since", "taken", "told")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.taken: set[Place] = set()
        self.backlog: list[tuple[int, int, Place]] = []
        self.starved_since: float | None = None
        self.told = False

    def has_room(self, priority: int) -> bool:
        """Room, and nobody of at least that priority waiting for it."""
        if len(self.taken) >= self.capacity:
            return False
        return not self.backlog or -self.backlog[0][0] < priority


class Desk:
    """The windows of all Agents that this Scheduler asks; freeing a place twice is harmless."""

    def __init__(self, capacities: Mapping[str, int]) -> None:
        self._windows = {agent: Window(capacity) for agent, capacity in capacities.items()}
        self._sequence = 0

    def set_capacities(self, capacities: Mapping[str, int]) -> None:
        """What Agents published last; one that no longer publishes has no room."""
        for agent in dict.fromkeys([*self._windows, *capacities]):
            self._window(agent).capacity = capacities.get(agent, 0)

    def take(self, step: Step, priority: int) -> bool:
        """Take a place in the window of the step's Agent if there is one for that priority."""
        window = self._window(step.agent or LOCAL)
        if not window.has_room(priority):
            return False
        window.taken.add((step.task, step.run, step.key))
        return True

    def occupy(self, step: Step) -> None:
        """Count a request that is out already, room or not."""
        self._window(step.agent or LOCAL).taken.add((step.task, step.run, step.key))

    def free(self, step: Step) -> None:
        """The step was answered, or nobody waits for it any more."""
        self._window(step.agent or LOCAL).taken.discard((step.task, step.run, step.key))

    def wait(self, step: Step, priority: int) -> None:
        """Put a step into its Agent's backlog: highest priority first, then first come."""
        self._sequence += 1
        place = (step.task, step.run, step.key)
        heapq.heappush(self._window(step.agent or LOCAL).backlog, (-priority, self._sequence, place))

    def ready(self) -> Iterator[Place]:
        """Waiting steps for which there is room now; the caller occupies the place, or lets a stale one be."""
        for window in self._windows.values():
            while window.backlog and len(window.taken) < window.capacity:
                yield heapq.heappop(window.backlog)[2]

    def starved(self, now: float) -> Iterator[tuple[str, Place]]:
        """Agents that have had no room at all for long while steps wait for them, each told once, with one of these."""
        for agent, window in self._windows.items():
            if window.capacity > 0 or not window.backlog:
                window.starved_since, window.told = None, False
            elif window.starved_since is None:
                window.starved_since = now
            elif not window.told and now - window.starved_since >= STARVED_AFTER:
                window.told = True
                yield agent, window.backlog[0][2]

    def _window(self, agent: str) -> Window:
        window = self._windows.get(agent)
        if window is None:
            window = self._windows[agent] = Window(0)
        return window
