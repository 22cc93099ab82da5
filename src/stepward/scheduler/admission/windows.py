"""Dispatch by room: a window for each Agent, and the backlog of steps that wait for room in it."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping

from stepward.model.records import Step
from stepward.model.states import StepKind
from stepward.scheduler.admission.fair_share import Room
from stepward.scheduler.turn_budget import PIECE, TurnBudget

LOCAL, TRANSACTIONS = "(local)", "(transactions)"
"""The pseudo-Agents whose windows bound plain local steps and transactional ones."""
NO_AGENTS = frozenset({LOCAL, TRANSACTIONS})
LOCAL_ROOM = Room(64)
"""For plain local steps; the store says how many transactional ones go on beside them."""
STARVED_AFTER = 30.0
"""Seconds without any window for an Agent that steps wait for, before an alert is raised."""
LONGEST_LOOK = 10.0
"""Time between two looks counts for no more: a clock was stepped then, or this process stopped."""
NO_ROOM = Room(0)
BacklogKey = tuple[str, int, str]
"""A step that holds a place in a window or waits for one: task, run and key."""
Key = str | None
"""What tasks are kept fair between; None is a key like any other."""


class Window:
    """How many requests an Agent may hold of this Scheduler, and which it holds."""

    __slots__ = ("_was_open", "backlog", "capacity", "is_barred", "is_reported", "share", "starved_for", "taken")

    def __init__(self, room: Room) -> None:
        self.share = self.capacity = room.requests
        """This Scheduler's share of the Agent's capacity, and how far the window has opened to it."""
        self.is_barred = room.is_barred
        self._was_open = self.capacity > 0
        self.taken: set[BacklogKey] = set()
        self.backlog = Backlog()
        self.starved_for: float | None = None
        self.is_reported = False

    def resize(self, room: Room) -> None:
        """Close to a smaller share at once; open to a larger one step by step, after an outage from one request on."""
        self.share, self.is_barred = room
        if self.share <= self.capacity or not self._was_open:
            self.capacity = self.share
        self.capacity = max(self.capacity, min(self.share, 1))
        self._was_open |= self.capacity > 0

    def widen(self) -> None:
        """Open by one step."""
        self.capacity = min(self.share, 2 * self.capacity)

    def free(self, place: BacklogKey) -> None:
        """Free the place; while the window opens, each place that is freed opens it by one.

        Behind an open breaker no request leaves before the result of the probe: its time would pass in the queue.
        """
        if place in self.taken:
            self.taken.remove(place)
            if self.is_barred:
                self.share = self.capacity = 0
            elif self.capacity < self.share:
                self.capacity += 1

    def comes_first(self, priority: int) -> bool:
        """Whether no step of at least that priority waits for room."""
        highest = self.backlog.highest
        return highest is None or highest < priority


class Windows:
    """The windows of all Agents that this Scheduler asks; freeing a place twice is harmless."""

    def __init__(self, rooms: Mapping[str, Room]) -> None:
        self._windows = {agent: Window(room) for agent, room in rooms.items()}
        self._starved_at = 0.0
        """When ``starved`` looked last."""

    def set_rooms(self, rooms: Mapping[str, Room]) -> None:
        """Our share of each Agent as of now; one that is not named has no room."""
        for agent in dict.fromkeys([*self._windows, *rooms]):
            self._window(agent).resize(rooms.get(agent, NO_ROOM))

    @property
    def is_opening(self) -> bool:
        """Whether a window has not opened to our share yet: ``widen`` is to be called soon."""
        return any(window.capacity < window.share for window in self._windows.values())

    def widen(self) -> None:
        """Open the windows that have not opened to our share by one step."""
        for window in self._windows.values():
            window.widen()

    def waits(self) -> dict[str, float]:
        """By Agent, since when the first of the steps that wait for room has waited here."""
        first = ((agent, w.backlog.since) for agent, w in self._windows.items() if agent not in NO_AGENTS)
        return {agent: since for agent, since in first if since is not None}

    def demand(self) -> dict[str, int]:
        """By Agent, the requests that are out and the steps that wait for room."""
        asked = ((agent, len(w.taken) + len(w.backlog)) for agent, w in self._windows.items() if agent not in NO_AGENTS)
        return {agent: count for agent, count in asked if count}

    def take(self, step: Step, priority: int) -> bool:
        """Take a place in the window of the step's Agent if there is one for that priority."""
        window = self._windows.get(step.agent or "") or self._window_of(step)
        if len(window.taken) >= window.capacity or (window.backlog.lines and not window.comes_first(priority)):
            return False
        window.taken.add((step.task, step.run, step.key))
        return True

    def occupy(self, step: Step) -> None:
        """Count a request that is out already, room or not."""
        self._window_of(step).taken.add((step.task, step.run, step.key))

    def free(self, step: Step) -> None:
        """The step was answered, or was given up."""
        window = self._windows.get(step.agent or "") or self._window_of(step)
        place = (step.task, step.run, step.key)
        window.free(place)
        if window.backlog.lines:
            window.backlog.discard(place)

    def wait(self, step: Step, priority: int, key: Key, now: float) -> None:
        """Put a step into its Agent's backlog: highest priority first, then fairness keys in turn, then first come."""
        self._window_of(step).backlog.push((step.task, step.run, step.key), priority, key, now)

    def ready(self, budget: TurnBudget) -> Iterator[BacklogKey]:
        """Waiting steps for which there is room now; the caller occupies the place, or lets a stale one be.

        Each Agent has its share of what the turn has room for.
        """
        for window in self._windows.values():
            given = 0
            while window.backlog and len(window.taken) < window.capacity:
                yield window.backlog.pop()
                given += 1
                if not given % PIECE and budget.is_spent(given):
                    break

    @property
    def held_up(self) -> int:
        """How many steps wait for Agents that have no room at all for as long as something is wrong with them."""
        return sum(len(window.backlog) for window in self._windows.values() if window.is_barred or not window.share)

    @property
    def lowest(self) -> int | None:
        """The lowest priority that waits for room."""
        waiting = (window.backlog.lowest for window in self._windows.values())
        return min((priority for priority in waiting if priority is not None), default=None)

    def crowd(self, priority: int) -> Counter[Key]:
        """How many steps of each fairness key wait for room at that priority."""
        return sum((window.backlog.crowd(priority) for window in self._windows.values()), Counter())

    def last_come(self, priority: int, key: Key) -> Iterator[BacklogKey]:
        """The steps of a key that wait at that priority, the newest of each Agent first."""
        for window in self._windows.values():
            yield from window.backlog.last_come(priority, key)

    def starved(self, now: float) -> Iterator[tuple[str, BacklogKey]]:
        """Agents without any room for long while steps wait for them, each reported once, with one of these steps."""
        passed = min(max(now - self._starved_at, 0.0), LONGEST_LOOK)
        self._starved_at = now
        for agent, window in self._windows.items():
            if window.capacity > 0 or window.is_barred or not window.backlog:
                window.starved_for, window.is_reported = None, False
                continue
            window.starved_for = 0.0 if window.starved_for is None else window.starved_for + passed
            if not window.is_reported and window.starved_for >= STARVED_AFTER:
                window.is_reported = True
                yield agent, window.backlog.first()

    def _window_of(self, step: Step) -> Window:
        return self._window(step.agent or (TRANSACTIONS if step.kind is StepKind.TRANSACTION else LOCAL))

    def _window(self, agent: str) -> Window:
        window = self._windows.get(agent)
        if window is None:
            window = self._windows[agent] = Window(NO_ROOM)
        return window


class Backlog:
    """The steps that wait for room at one Agent, each once."""

    __slots__ = ("_rings", "lines")

    def __init__(self) -> None:
        self._rings: dict[int, OrderedDict[Key, OrderedDict[BacklogKey, None]]] = {}
        """By priority the keys that wait, whose turn is next first; each with its steps, first come first."""
        self.lines: dict[BacklogKey, tuple[int, Key, float]] = {}
        """The waiting steps, each with its priority and fairness key."""

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

    @property
    def since(self) -> float | None:
        """When the step that has waited longest came; None if none waits."""
        return next((since for _, _, since in self.lines.values()), None)

    def push(self, place: BacklogKey, priority: int, key: Key, now: float) -> None:
        """Let a step wait; one that waits already keeps its place."""
        if place in self.lines:
            return
        self.lines[place] = priority, key, now
        ring = self._rings.get(priority)
        if ring is None:
            ring = self._rings[priority] = OrderedDict()
        line = ring.get(key)
        if line is None:
            line = ring[key] = OrderedDict()
        line[place] = None

    def first(self) -> BacklogKey:
        """The next step; the backlog must not be empty."""
        ring = self._rings[max(self._rings)]
        return next(iter(next(iter(ring.values()))))

    def pop(self) -> BacklogKey:
        """Take the next step; the backlog must not be empty. The turn passes to the next key."""
        place = self.first()
        priority, key, _ = self.lines[place]
        self._rings[priority].move_to_end(key)
        self.discard(place)
        return place

    def discard(self, place: BacklogKey) -> None:
        """The step waits no more, if it did."""
        priority, key, _ = self.lines.pop(place, (None, None, 0.0))
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
        """The steps of a key that wait at that priority, newest first; the backlog must not change meanwhile."""
        ring = self._rings.get(priority)
        return iter(()) if ring is None or key not in ring else reversed(ring[key])
