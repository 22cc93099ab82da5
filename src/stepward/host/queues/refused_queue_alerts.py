"""Alerts for queues that a broker refuses to processes; each ends when the queue works again.

A queue has one alert, whichever process raised it: any process in which the queue works settles it, also after the
raising process is gone. A process for which it is still refused raises another under its own name, settled only by that
process or by its death.

The reply queue of a Scheduler that has ended has none: the queue is deleted with its Scheduler, so a late request to it
may be refused, and it never works again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from msgspec import Struct

from stepward.errors import StoreError
from stepward.events import Event
from stepward.host.assembly import Parts
from stepward.model.messages.requests import reply_queue
from stepward.model.records import Alert
from stepward.transport.broker.refused_queues import ACCEPTED, REFUSED

KIND = "queue_refused"
PATIENCE_SECONDS = 1.0
"""Seconds before a refusal becomes an alert: a cluster that elects a leader refuses for a moment."""
LOOK_SECONDS = 15.0
"""Seconds between two reads of alerts that other processes raised or settled."""
MOST_ALERTS = 1_000
REPLIES = reply_queue("")


class RefusalDetails(Struct, frozen=True, omit_defaults=True):
    """The details of an alert; ``instance`` if the queue is refused to that process alone."""

    queue: str
    instance: str | None = None


class RefusedQueueAlerts:
    """Records the transport's reports about queues in the store; ``sender`` names an instance of this process."""

    def __init__(self, parts: Parts, sender: Callable[[], str]) -> None:
        self._parts = parts
        self._sender = sender
        self._refused: dict[str, Event] = {}
        self._raised: dict[str, bytes] = {}
        """By queue, the details of the alert that this process raised."""
        self._accepted: set[str] = set()
        self._changed = asyncio.Event()

    async def keep(self) -> None:
        """Handle reports, and read the alerts at intervals, until cancelled."""
        self._parts.observers.add(self._received)
        try:
            while True:
                try:
                    await self._turn()
                except StoreError as error:
                    self._parts.observers.emit("store.unavailable", error=str(error))
                    await asyncio.sleep(PATIENCE_SECONDS)
        finally:
            self._parts.observers.remove(self._received)

    async def _turn(self) -> None:
        is_due = False
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self._changed.wait()
        except TimeoutError:
            is_due = True
        else:
            await asyncio.sleep(PATIENCE_SECONDS)
        self._changed.clear()
        await self._forget_ended()
        if is_due:
            await self._look()
        await self._write()

    async def _forget_ended(self) -> None:
        """Forget refused reply queues whose Schedulers have ended, and settle the alerts about them."""
        readers = {queue: reader for queue in self._refused if (reader := _reader_of(queue)) is not None}
        if not readers:
            return
        alive = {each.id for each in await self._parts.store.operators.instances() if each.alive}
        for queue, reader in readers.items():
            if reader not in alive:
                if queue in self._raised:
                    await self._parts.store.host.end_warning(KIND, self._raised[queue], self._sender())
                self._raised.pop(queue, None)
                self._refused.pop(queue, None)

    async def _write(self) -> None:
        while self._accepted:
            queue = next(iter(self._accepted))
            details = {_details(queue), self._raised.get(queue, _details(queue))}
            for each in details:
                await self._parts.store.host.end_warning(KIND, each, self._sender())
            self._raised.pop(queue, None)
            self._accepted.discard(queue)
        for queue, event in list(self._refused.items()):
            if queue not in self._raised:
                await self._raise(event, _details(queue))

    async def _look(self) -> None:
        """Settle alerts of dead processes, expect queues that others reported as refused, raise again what others
        settled."""
        store = self._parts.store
        found = [alert for alert in await store.operators.alerts(MOST_ALERTS, open_only=True) if alert.kind == KIND]
        if not found and not self._refused:
            return
        instances = await store.operators.instances()
        alive = {each.id for each in instances if each.alive}
        for alert in found:
            about = _about(alert)
            if {about.instance, _reader_of(about.queue)} - {None} - alive:
                await store.host.end_warning(KIND, alert.details, self._sender())
            elif about.instance is None and about.queue not in self._refused:
                self._parts.transport.expect(about.queue)
                if self._parts.brokered is not None:
                    self._parts.brokered.expect(about.queue)
        gone = self._raised.keys() & self._refused.keys() - {_about(alert).queue for alert in found}
        ended = await store.operators.alerts(MOST_ALERTS, open_only=False) if gone else []
        # An alert that an operator acknowledged stays acknowledged.
        by_others = {each.details for each in ended if each.acknowledged_by in {each.id for each in instances}}
        for queue in gone:
            if self._raised[queue] in by_others:
                await self._raise(self._refused[queue], _details(queue, self._sender()))

    async def _raise(self, event: Event, details: bytes) -> None:
        await self._parts.store.host.warn(refused_alert(**event.fields, details=details))
        self._raised[event.fields["queue"]] = details

    def _received(self, event: Event) -> None:
        if event.name == REFUSED:
            self._refused[event.fields["queue"]] = event
            self._accepted.discard(event.fields["queue"])
        elif event.name == ACCEPTED:
            self._refused.pop(event.fields["queue"], None)
            self._accepted.add(event.fields["queue"])
        else:
            return
        self._changed.set()


def refused_alert(broker: str, queue: str, reason: str, details: bytes) -> Alert:
    """The alert for a queue."""
    return Alert(
        kind=KIND,
        message=f"queue {queue}: expected {broker} to take its messages and give them out, found: {reason}; "
        "see 'What a broker refuses' in docs/operations.md",
        details=details,
    )


def _details(queue: str, instance: str | None = None) -> bytes:
    return msgspec.json.encode(RefusalDetails(queue, instance))


def _reader_of(queue: str) -> str | None:
    """The Scheduler whose replies these are; response queues of applications have a dot more, and readers elsewhere."""
    instance = queue.removeprefix(REPLIES)
    return None if instance == queue or "." in instance else instance


def _about(alert: Alert) -> RefusalDetails:
    return msgspec.json.decode(alert.details, type=RefusalDetails)
