"""A running application in a process: its store, transport and queues, and their orderly end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stepward.client import Endings
from stepward.clock import Environment
from stepward.events import Hints, Observers
from stepward.host import Host
from stepward.large_payloads import PayloadKeeper, keeper_of
from stepward.model.messages.requests import request_queue
from stepward.model.messages.signing import Signer
from stepward.payload.sealed import PayloadCodec
from stepward.settings import Settings
from stepward.store.contract import MessageStore, Store
from stepward.transport.broker.dead_letters import burying
from stepward.transport.broker.queue_names import partition_app
from stepward.transport.contract import Transport
from stepward.transport.large_payload_transport import LargePayloadTransport
from stepward.transport.memory.memory_transport import MemoryTransport
from stepward.transport.open_broker import broker_queues, is_broker, open_broker
from stepward.transport.queues.broker_queues import BrokerQueues
from stepward.transport.queues.contract import AppQueues
from stepward.transport.queues.large_payload_queues import with_large_payloads
from stepward.transport.queues.partition_queues import BrokerPartition, PartitionQueues
from stepward.transport.queues.sealed_queues import sealed_queues
from stepward.transport.sealed_transport import SealedTransport
from stepward.transport.store.store_queues import StoreQueues
from stepward.transport.store.store_transport import StoreTransport

CLOSE_SECONDS = 5.0
"""Seconds that each of queues, transport and store may take to close when a server does not answer."""


class Running:
    """A running application in this process."""

    def __init__(
        self,
        store: Store,
        transport: Transport,
        queues: AppQueues,
        hints: Hints,
        endings: Endings,
        host: Host,
        observers: Observers,
    ) -> None:
        self.store = store
        self.transport = transport
        self.queues = queues
        self.hints = hints
        self.endings = endings
        self.host = host
        self._observers = observers
        self._loop = asyncio.get_running_loop()

    @property
    def is_on_this_loop(self) -> bool:
        """Whether the caller is on the event loop of the actors: on any other, what they lend waits for ever."""
        loop: object = asyncio._get_running_loop()
        return loop is self._loop

    @property
    def lent(self) -> dict[str, Any]:
        """What a client of this process has from it besides the store."""
        return {
            "hints": self.hints,
            "queues": self.queues,
            "endings": self.endings,
            "submit_locally": self.host.local_submissions.submit,
        }

    def unready(self) -> list[str]:
        """Why the actors cannot do their work now, a line for each reason; empty if they can."""
        return self.host.unready()

    def waits(self) -> dict[str, float]:
        """By Agent, the seconds for which the oldest step has waited for room here."""
        return self.host.waits()

    async def wait(self) -> None:
        """Wait until an actor ends by a bug, and raise it, or until an operator drains this process."""
        await self.host.wait()

    async def stop(self) -> None:
        """End every actor in good order, then the transport and the store."""
        try:
            await self.host.stop()
        finally:
            await self.close()

    async def close(self) -> None:
        """Close the transport and the store."""
        for what, close in (
            ("queues", self.queues.close),
            ("transport", self.transport.close),
            ("store", self.store.close),
        ):
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await close()
            except TimeoutError:
                self._observers.emit("process.stop_stuck", what=what)


class Health:
    """Whether a process is ready, from before its actors start until after they ended."""

    def __init__(self) -> None:
        self.running: Running | None = None

    def unready(self) -> list[str]:
        """The reasons why it is not ready, one line each; empty if it is."""
        return ["starting"] if self.running is None else self.running.unready()

    def waits(self) -> dict[str, float]:
        """By Agent, the seconds for which the oldest step has waited for room here."""
        return {} if self.running is None else self.running.waits()


def keeper_for(app: str, settings: Settings, environment: Environment) -> PayloadKeeper | None:
    """The keeper of large payloads that the settings name."""
    encrypts = settings.encryption is not None
    age = settings.large_payload_orphans
    return keeper_of(app, settings.outside, encrypts=encrypts, environment=environment, orphans_after=age)


@dataclass(frozen=True, slots=True)
class Reach:
    """Opens the queues that the settings name: those between the actors, and the application's own."""

    app: str
    settings: Settings
    environment: Environment
    observers: Observers
    store: Store
    hints: Hints
    signer: Signer
    codec: PayloadCodec | None = None
    keeper: PayloadKeeper | None = None
    partition: BrokerPartition | None = None

    async def transport(self, asks: Sequence[str]) -> Transport:
        """The transport of requests to the Agents ``asks`` and of their replies. Raises SettingsError or
        TransportError."""
        if self.settings.transport == "local":
            return MemoryTransport(self.store.now)
        opened = await self._queued_transport(asks)
        sealed = opened if self.codec is None else SealedTransport(opened, self.codec, self.observers)
        return sealed if self.keeper is None else LargePayloadTransport(sealed, self.keeper, self.observers)

    async def _queued_transport(self, asks: Sequence[str]) -> Transport:
        if self.settings.transport == "store":
            transport = StoreTransport(
                self.store.messages, poll=self.settings.poll, hint=None, observers=self.observers
            )
            self.hints.receive(transport.wake)
            return transport
        return await open_broker(
            self.settings.transport,
            app=self.app if self.partition is None else partition_app(self.app, self.partition.name),
            now=self.store.now,
            environment=self.environment,
            observers=self.observers,
            bury=burying(self.store.messages),
            signer=self.signer,
            first=None if self.partition is None else self.partition.first,
            lease=self.settings.lease,
            asks=[request_queue(agent) for agent in asks],
        )

    def queues(self, brokered: BrokerQueues | None) -> AppQueues:
        """The application's own queues: those at the broker, or else in the store."""
        whole = brokered or self._store_queues()
        return self._whole(whole if self.partition is None else PartitionQueues(whole, self.partition))

    def others_queues(self, queues: AppQueues, messages: MessageStore) -> AppQueues:
        """The queues by which messages are passed on to other stores: at a broker the application's, which routers
        carry on, or else those of all stores."""
        if self.partition is not None:
            return queues
        return self._whole(StoreQueues(messages, poll=self.settings.poll))

    def _whole(self, queues: AppQueues) -> AppQueues:
        return with_large_payloads(sealed_queues(queues, self.codec), self.keeper)

    def _store_queues(self) -> AppQueues:
        queues = StoreQueues(self.store.messages, poll=self.settings.poll)
        self.hints.receive(queues.wake)
        return queues

    def broker_queues(self) -> BrokerQueues | None:
        """The application's own queues at the broker, if there is one."""
        if not is_broker(self.settings.transport):
            return None
        return broker_queues(
            self.settings.transport,
            app=self.app,
            now=self.store.now,
            environment=self.environment,
            observers=self.observers,
            bury=burying(self.store.messages),
        )
