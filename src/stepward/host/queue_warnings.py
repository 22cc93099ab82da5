"""Alerts for queues of which a broker refuses what this process asks; each ends when the broker takes it again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from stepward.errors import StoreError
from stepward.events import Event
from stepward.host.parts import Parts
from stepward.model.records import Alert
from stepward.transport.refusals import ACCEPTED, REFUSED

KIND = "queue_refused"
PATIENCE_SECONDS = 1.0
"""Seconds before a refusal becomes an alert: a cluster that looks for a leader refuses for a moment."""


class QueueWarnings:
    """Writes into the store what the transport reports of queues; ``sender`` names an instance of this process."""

    def __init__(self, parts: Parts, sender: Callable[[], str]) -> None:
        self._parts = parts
        self._sender = sender
        self._refused: dict[str, Alert] = {}
        self._raised: dict[str, Alert] = {}
        self._changed = asyncio.Event()

    async def keep(self) -> None:
        """Listen until cancelled."""
        self._parts.observers.add(self._heard)
        try:
            while True:
                await self._changed.wait()
                await asyncio.sleep(PATIENCE_SECONDS)
                self._changed.clear()
                try:
                    await self._write()
                except StoreError as error:
                    self._parts.observers.tell("store.unavailable", error=str(error))
                    self._changed.set()
        finally:
            self._parts.observers.remove(self._heard)

    async def _write(self) -> None:
        store = self._parts.store
        for queue in list(self._raised):
            if queue not in self._refused:
                await store.end_warning(KIND, self._raised[queue].details, self._sender())
                del self._raised[queue]
        for queue, alert in list(self._refused.items()):
            if queue not in self._raised:
                await store.warn(alert)
                self._raised[queue] = alert

    def _heard(self, event: Event) -> None:
        if event.name == REFUSED:
            self._refused[event.fields["queue"]] = refused_alert(**event.fields)
        elif event.name == ACCEPTED:
            self._refused.pop(event.fields["queue"], None)
        else:
            return
        self._changed.set()


def refused_alert(broker: str, queue: str, reason: str) -> Alert:
    """The alert for a queue, the same whichever process raises it."""
    return Alert(
        kind=KIND,
        message=f"queue {queue}: expected {broker} to take its messages and give them out, found: {reason}; "
        "see 'What a broker refuses' in docs/operations.md",
        details=msgspec.json.encode({"queue": queue}),
    )
