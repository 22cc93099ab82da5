"""The signals of a run: kept in order per name, each taken by one wait."""

from __future__ import annotations

import asyncio
import heapq
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import NamedTuple

from stepward.model.tasks.updates import UpdateAnswer

PRUNE_FROM = 64
"""Withdrawn waits, beyond as many as there are, after which the table of waits is made again."""


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
    """Signals that were received or are waited for; each operation takes constant time on average."""

    __slots__ = ("_names", "_queues", "_ready", "_waits", "_withdrawn")

    def __init__(self) -> None:
        self._queues: dict[str, deque[Signal]] | None = None
        self._waits: dict[str, Wait] = {}
        """By key, in the order in which the workflow began to wait."""
        self._withdrawn = 0
        self._names: dict[str, str | OrderedDict[str, None]] = {}
        """The keys that wait for each name, in the same order; a single one stands alone."""
        self._ready: list[tuple[int, str]] | None = None
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
        if self._queues is None:
            self._queues = {}
        self._queues.setdefault(name, deque()).append(signal)
        self._make_ready(name)

    def add(self, wait: Wait) -> None:
        """Let the workflow wait."""
        self._waits[wait.key] = wait
        keys = self._names.get(wait.name)
        if keys is None:
            self._names[wait.name] = wait.key
        elif isinstance(keys, str):
            self._names[wait.name] = OrderedDict.fromkeys((keys, wait.key))
        else:
            keys[wait.key] = None
        self._make_ready(wait.name)

    def take(self) -> tuple[Wait, Signal] | None:
        """The first wait for which there is a signal, and that signal; both are used up."""
        while self._ready:
            _, key = heapq.heappop(self._ready)
            wait = self._waits.get(key)
            queue = None if wait is None else self._queue_of(wait.name)
            if wait is not None and queue:
                signal = self._next(wait.name, queue)
                self.withdraw(key)
                return wait, signal
        return None

    def reject(self) -> UpdateAnswer | None:
        """Removes the next signal if the wait that would take it rejects it, and returns the answer."""
        while self._ready:
            wait = self._waits.get(self._ready[0][1])
            queue = None if wait is None else self._queue_of(wait.name)
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
        self._withdrawn += 1
        if self._withdrawn > len(self._waits) + PRUNE_FROM:
            # A dict that is emptied from the front gets slower with each look at its first entry.
            self._waits, self._withdrawn = dict(self._waits), 0
        keys = self._names[wait.name]
        if not isinstance(keys, str):
            del keys[key]
        if isinstance(keys, str) or not keys:
            del self._names[wait.name]
        else:
            self._make_ready(wait.name)

    def end_waits(self) -> None:
        """Ends all waits; the signals stay for the next run."""
        self._waits.clear()
        self._names.clear()
        self._ready = None

    def _queue_of(self, name: str) -> deque[Signal] | None:
        return None if self._queues is None else self._queues.get(name)

    def _next(self, name: str, queue: deque[Signal]) -> Signal:
        signal = queue.popleft()
        if not queue and self._queues is not None:
            del self._queues[name]
        return signal

    def _make_ready(self, name: str) -> None:
        keys = self._names.get(name)
        if keys and self._queue_of(name):
            key = keys if isinstance(keys, str) else next(iter(keys))
            if self._ready is None:
                self._ready = []
            heapq.heappush(self._ready, (self._waits[key].number, key))
