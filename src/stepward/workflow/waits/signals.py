"""The signals of a run: kept in order per name, each taken by one wait."""

from __future__ import annotations

import asyncio
import heapq
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import NamedTuple

from stepward.model.tasks.updates import UpdateAnswer


class Signal(NamedTuple):
    """A row of the task's inbox that no wait has taken yet."""

    number: int
    payload: bytes
    at: float


UpdateCheck = Callable[[Signal], UpdateAnswer | None]
"""Returns the answer that rejects an update; None for one that the wait takes."""


class Wait(NamedTuple):
    """A ``wait_for`` that has no signal yet; ``number`` is its place in the order of asking."""

    key: str
    number: int
    name: str
    future: asyncio.Future[bytes]
    refusal: UpdateCheck | None = None
    """The answer that rejects an update; None for one that the wait takes."""


class Signals:
    """Signals that were received or are waited for; each operation takes constant time."""

    __slots__ = ("_names", "_queues", "_ready", "_waits")

    def __init__(self) -> None:
        self._queues: dict[str, deque[Signal]] = {}
        self._waits: OrderedDict[str, Wait] = OrderedDict()
        """By key, in the order in which the workflow began to wait."""
        self._names: dict[str, OrderedDict[str, None]] = {}
        """The keys that wait for each name, in the same order."""
        self._ready: list[tuple[int, str]] = []
        """A heap of the first waits of names that have a signal; what is over by now is passed over."""

    def __len__(self) -> int:
        """How many waits there are."""
        return len(self._waits)

    @property
    def first(self) -> Wait | None:
        """The wait that began first."""
        return next(iter(self._waits.values()), None)

    def put(self, name: str, signal: Signal) -> None:
        """Keep a signal until the workflow waits for it."""
        self._queues.setdefault(name, deque()).append(signal)
        self._make_ready(name)

    def add(self, wait: Wait) -> None:
        """Let the workflow wait."""
        self._waits[wait.key] = wait
        self._names.setdefault(wait.name, OrderedDict())[wait.key] = None
        self._make_ready(wait.name)

    def take(self) -> tuple[Wait, Signal] | None:
        """The first wait for which there is a signal, and that signal; both are used up."""
        while self._ready:
            _, key = heapq.heappop(self._ready)
            wait = self._waits.get(key)
            queue = None if wait is None else self._queues.get(wait.name)
            if wait is not None and queue:
                signal = self._next(wait.name, queue)
                self.withdraw(key)
                return wait, signal
        return None

    def reject(self) -> UpdateAnswer | None:
        """Removes the next signal if the wait that would take it rejects it, and returns the answer."""
        while self._ready:
            wait = self._waits.get(self._ready[0][1])
            queue = None if wait is None else self._queues.get(wait.name)
            if wait is not None and queue:
                answer = None if wait.refusal is None else wait.refusal(queue[0])
                if answer is not None:
                    self._next(wait.name, queue)
                return answer
            heapq.heappop(self._ready)
        return None

    def withdraw(self, key: str) -> None:
        """Ends the wait under ``key``."""
        wait = self._waits.pop(key, None)
        if wait is None:
            return
        keys = self._names[wait.name]
        del keys[key]
        if keys:
            self._make_ready(wait.name)
        else:
            del self._names[wait.name]

    def end_waits(self) -> None:
        """Ends all waits; the signals stay for the next run."""
        self._waits.clear()
        self._names.clear()
        self._ready.clear()

    def _next(self, name: str, queue: deque[Signal]) -> Signal:
        signal = queue.popleft()
        if not queue:
            del self._queues[name]
        return signal

    def _make_ready(self, name: str) -> None:
        keys = self._names.get(name)
        if keys and name in self._queues:
            key = next(iter(keys))
            heapq.heappush(self._ready, (self._waits[key].number, key))
