"""Broadcasts to all processes of an application over a broker: revocations, losses and announcements of capacity."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable

from stepward.errors import QueueRefused
from stepward.events import Observers
from stepward.transport.broker.refused_queues import RefusedQueues
from stepward.transport.broker.revocations import OwnRevocations, Revocations
from stepward.transport.contract import Lost, OnAnnouncement, Revoked
from stepward.transport.wire.capacity_announcements import decode_capacity
from stepward.transport.wire.loss_broadcasts import decode_loss
from stepward.transport.wire.wire_events import decode_revocation, encode_revocation

BROADCASTS = "told"
"""The name, among the queues, of broadcasts to all processes."""


class Broadcasts:
    """Sends the broadcasts of this process, and calls the listeners for those that it receives.

    ``source`` identifies this process, which skips its own revocations; ``send`` is the broker's.
    """

    def __init__(
        self,
        source: str,
        *,
        broker: str,
        send: Callable[[bytes], Awaitable[None]],
        refusals: RefusedQueues,
        observers: Observers,
    ) -> None:
        self._source = source
        self._broker = broker
        self._send = send
        self._refusals = refusals
        self._observers = observers
        self._revocations = Revocations()
        self._own = OwnRevocations()
        self._revocation_listeners: dict[str, list[Revoked]] = {}
        self._loss_listeners: list[Lost] = []
        self._announcement_listeners: list[OnAnnouncement] = []
        self.is_revoked = self._revocations.covers

    async def revoke(self, queue: str, task: str, run: int, key: str, attempt: int) -> None:
        """Broadcasts the revocation of a request, and calls the listeners of this process."""
        self._revocations.note(task, run, key, attempt)
        self._own.note(queue, task, run, key, attempt)
        self._call_revoked(queue, task, run, key)
        await self._broadcast(encode_revocation(self._source, queue, task, run, key, attempt))

    async def remind(self, queue: str) -> None:
        """Broadcasts this process's revocations of a queue again."""
        for (task, run, key), attempt in self._own.of(queue):
            await self._broadcast(encode_revocation(self._source, queue, task, run, key, attempt))

    async def _broadcast(self, body: bytes) -> None:
        """Sends a broadcast that is not essential; a refusal is reported, and stops nothing else."""
        with contextlib.suppress(QueueRefused), self._refusals.watching(BROADCASTS):
            await self._send(body)

    def on_revoke(self, queue: str, listener: Revoked) -> Callable[[], None]:
        """Calls ``listener`` for revocations of a queue until the returned function is called."""
        listeners = self._revocation_listeners.setdefault(queue, [])
        listeners.append(listener)
        return lambda: listeners.remove(listener)

    def on_lost(self, listener: Lost) -> Callable[[], None]:
        """Calls ``listener`` for queues that lost messages until the returned function is called."""
        self._loss_listeners.append(listener)
        return lambda: self._loss_listeners.remove(listener)

    def on_announcement(self, listener: OnAnnouncement) -> Callable[[], None]:
        """Calls ``listener`` for announcements of capacity until the returned function is called."""
        self._announcement_listeners.append(listener)
        return lambda: self._announcement_listeners.remove(listener)

    def lost(self, queue: str | None) -> None:
        """Calls the listeners of losses, for one queue or for all."""
        self._observers.emit("transport.messages_lost", broker=self._broker, queue=queue)
        for listener in tuple(self._loss_listeners):
            listener(queue)

    def receive(self, body: bytes) -> None:
        """Handles a broadcast of a process of the application."""
        revocation = decode_revocation(body)
        if revocation is not None:
            if revocation.source != self._source:
                step = (revocation.correlationid, revocation.run, revocation.step)
                self._revocations.note(*step, revocation.attempt)
                self._call_revoked(revocation.subject, *step)
        elif (queue := decode_loss(body)) is not None:
            self.lost(queue)
        elif (announced := decode_capacity(body)) is not None:
            for listener in tuple(self._announcement_listeners):
                listener(*announced)
        else:
            self._observers.emit("transport.not_understood", start=body[:200].decode(errors="replace"))

    def _call_revoked(self, queue: str, task: str, run: int, key: str) -> None:
        for listener in tuple(self._revocation_listeners.get(queue, ())):
            listener(task, run, key)
