"""The signals of a run: kept in order per name, each taken by one wait."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple


class Signal(NamedTuple):
    """A row of the task's inbox that no wait has taken yet."""

    number: int
    payload: bytes
    at: float


class Wait(NamedTuple):
    """A ``wait_for`` that has no signal yet."""

    key: str
    name: str
    future: asyncio.Future[bytes]


class Signals:
    """What came and what is waited for."""

    __slots__ = ("_queues", "waits")

    def __init__(self) -> None:
        self._queues: dict[str, deque[Signal]] = {}
        self.waits: list[Wait] = []
        """In the order in which the workflow began to wait."""

    def put(self, name: str, signal: Signal) -> None:
        """Keep a signal until somebody waits for it."""
        self._queues.setdefault(name, deque()).append(signal)

    def take(self) -> tuple[Wait, Signal] | None:
        """The first wait for which there is a signal, and that signal; both are used up."""
        for place, wait in enumerate(self.waits):
            queue = self._queues.get(wait.name)
            if queue:
                del self.waits[place]
                signal = queue.popleft()
                if not queue:
                    del self._queues[wait.name]
                return wait, signal
        return None

    def withdraw(self, key: str) -> None:
        """Nobody waits under ``key`` any more."""
        self.waits = [wait for wait in self.waits if wait.key != key]
