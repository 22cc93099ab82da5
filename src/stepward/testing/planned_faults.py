"""The faults that a test requests, and those that exploration draws: failing calls and lost replies."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence

from stepward.model.messages.requests import Reply, idempotency_key
from stepward.transport.contract import AgentMessage
from stepward.transport.memory.memory_transport import MemoryTransport

OperationName = tuple[str, bool]
"""The full name of an operation, and whether it is its undo."""


class Chances:
    """Draws the faults of an exploration from one seed."""

    def __init__(self, seed: int, *, loss: float, doubling: float, failure: float, crash: float, crashes: int) -> None:
        self._draw = random.Random(f"{seed}/faults").random  # the seed alone decides
        self._loss, self._doubling, self._failure, self._crash = loss, doubling, failure, crash
        self._crashes_left = crashes

    def loses(self) -> bool:
        """Whether this message is lost."""
        return self._draw() < self._loss

    def doubles(self) -> bool:
        """Whether this message arrives twice."""
        return self._draw() < self._doubling

    def fails(self) -> bool:
        """Whether this call fails before it does anything."""
        return self._draw() < self._failure

    def crashes(self) -> bool:
        """Whether the process dies at this point."""
        if not self._crashes_left or self._draw() >= self._crash:
            return False
        self._crashes_left -= 1
        return True

    def end(self) -> None:
        """Ends all faults."""
        self._loss = self._doubling = self._failure = self._crash = 0.0


class PlannedFaults:
    """The faults that are planned for the next calls of each operation."""

    def __init__(self, chances: Chances | None) -> None:
        self._chances = chances
        self._errors: dict[OperationName, deque[Exception]] = {}
        self._replies: dict[OperationName, int] = {}
        self._lost_keys: set[str] = set()

    def fail(self, name: OperationName, error: Exception, times: int) -> None:
        """Makes the next calls raise ``error`` before they do anything."""
        self._errors.setdefault(name, deque()).extend([error] * times)

    def lose_reply(self, name: OperationName, times: int) -> None:
        """Drops the replies of the next calls."""
        self._replies[name] = self._replies.get(name, 0) + times

    def before_call(self, name: OperationName) -> None:
        """Raises the error that is planned for this call."""
        errors = self._errors.get(name)
        if errors:
            raise errors.popleft()
        if self._chances is not None and self._chances.fails():
            raise ConnectionError("a fault of the exploration: the service did not answer")

    def after_call(self, name: OperationName, key: str) -> None:
        """Marks the reply to this call, by its idempotency key, as one to drop."""
        if self._replies.get(name):
            self._replies[name] -= 1
            self._lost_keys.add(_without_generation(key))

    def delivered(self, message: AgentMessage) -> int:
        """The number of times that the message arrives."""
        if isinstance(message, Reply):
            key = idempotency_key(message.task, message.run, message.key, 0)
            if key in self._lost_keys:
                self._lost_keys.discard(key)
                return 0
        if self._chances is None:
            return 1
        return 0 if self._chances.loses() else 2 if self._chances.doubles() else 1


class FaultyMemoryTransport(MemoryTransport):
    """Queues in memory that lose and duplicate messages as the faults say."""

    def __init__(self, now: Callable[[], float], faults: PlannedFaults) -> None:
        super().__init__(now)
        self._faults = faults

    async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
        arriving = [copy for message in messages for copy in [message] * self._faults.delivered(message)]
        await super().publish(queue, arriving)


def _without_generation(key: str) -> str:
    """The idempotency key without the step's generation, which replies do not carry."""
    return key.partition("#")[0]
