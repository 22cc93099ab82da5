"""Queues that the broker refuses to this process: each reason is reported once, and once more when the queue works
again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stepward.errors import QueueRefused
from stepward.events import Observers

REFUSED, ACCEPTED = "transport.refused", "transport.accepted"


class RefusedQueues:
    """Emits ``transport.refused`` for a queue and a reason, and ``transport.accepted`` when that is over."""

    def __init__(self, broker: str, observers: Observers) -> None:
        self._broker = broker
        self._observers = observers
        self._reasons: dict[str, str] = {}

    @contextmanager
    def watching(self, queue: str) -> Iterator[None]:
        """Report the result of a request to a queue; an error other than a refusal says nothing about the queue."""
        try:
            yield
        except QueueRefused as error:
            self._refused(queue, error.reason)
            raise
        if self._reasons.pop(queue, None) is not None:
            self._observers.emit(ACCEPTED, broker=self._broker, queue=queue)

    def expect(self, queue: str) -> None:
        """Emit ``transport.accepted`` at the queue's next success, even if it was not refused here."""
        self._reasons.setdefault(queue, "")

    def _refused(self, queue: str, reason: str) -> None:
        if self._reasons.get(queue) != reason:
            self._reasons[queue] = reason
            self._observers.emit(REFUSED, broker=self._broker, queue=queue, reason=reason)
