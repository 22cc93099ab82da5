"""The backend of an application's queues: its store, or a broker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stepward.clock import Environment
from stepward.events import Hints, Observers
from stepward.large_payloads import PayloadKeeper
from stepward.payload.sealed import PayloadCodec
from stepward.store.change_watcher import ChangeWatcher
from stepward.store.contract import Store
from stepward.store.partitions.single_or_partitioned import check_whole, is_address, opened_at
from stepward.store.sealing.key_check import check_keys
from stepward.transport.broker.dead_letters import burying
from stepward.transport.open_broker import broker_queues, is_broker
from stepward.transport.queues.contract import AppQueues
from stepward.transport.queues.large_payload_queues import with_large_payloads
from stepward.transport.queues.sealed_queues import sealed_queues
from stepward.transport.store.store_queues import StoreQueues

POLL = 1.0


class QueuePlace(Protocol):
    """The queues of one application, and what is needed to reach them."""

    @property
    def queues(self) -> AppQueues:
        """The queues."""
        ...

    def now(self) -> float:
        """The time by which messages are dated."""
        ...

    async def open(self) -> None:
        """Connect."""
        ...

    async def close(self) -> None:
        """Let go."""
        ...


def place_of(
    address: str | Sequence[str] | Store,
    app: str,
    environment: Environment,
    codec: PayloadCodec | None = None,
    keeper: PayloadKeeper | None = None,
) -> QueuePlace:
    """The place at that address, or in that store. Raises SettingsError."""
    if isinstance(address, str) and is_broker(address):
        return BrokerPlace(address, app, environment, codec, keeper)
    return StorePlace(address, app, environment, codec, keeper)


def queues_beside(
    store: Store,
    transport: str | None,
    app: str,
    environment: Environment,
    codec: PayloadCodec | None = None,
    keeper: PayloadKeeper | None = None,
) -> AppQueues:
    """The queues of an application whose store is open: with the broker that is its transport, or in the store."""
    if transport is None or not is_broker(transport):
        return with_large_payloads(sealed_queues(StoreQueues(store.messages, poll=POLL), codec), keeper)
    queues = broker_queues(
        transport,
        app=app,
        now=store.now,
        environment=environment,
        observers=Observers(),
        bury=burying(store.messages),
    )
    return with_large_payloads(sealed_queues(queues, codec), keeper)


class StorePlace:
    """Implements ``QueuePlace``; a store that was open already stays so."""

    def __init__(
        self,
        address: str | Sequence[str] | Store,
        app: str,
        environment: Environment,
        codec: PayloadCodec | None,
        keeper: PayloadKeeper | None,
    ) -> None:
        self._owns_store = is_address(address)
        self._codec = codec
        self._store = opened_at(address, app, environment, codec, keeper)
        sealed = sealed_queues(StoreQueues(self._store.messages, poll=POLL), codec)
        self.queues = with_large_payloads(sealed, keeper)
        hints = Hints()
        hints.receive(self.queues.wake)
        self._watcher = ChangeWatcher(self._store.host, hints)

    def now(self) -> float:
        return self._store.now()

    async def open(self) -> None:
        if self._owns_store:
            await self._store.open()
            try:
                await check_keys(self._store.host, self._codec)
                await check_whole(self._store)
            except BaseException:
                await self._store.close()
                raise
        self._watcher.start()

    async def close(self) -> None:
        await self._watcher.stop()
        await self.queues.close()
        if self._owns_store:
            await self._store.close()


class BrokerPlace:
    """Implements ``QueuePlace``; who knows the broker alone dates by the clock of its host."""

    def __init__(
        self,
        address: str,
        app: str,
        environment: Environment,
        codec: PayloadCodec | None,
        keeper: PayloadKeeper | None,
    ) -> None:
        self.now = environment.clock.wall
        self._queues = broker_queues(
            address, app=app, now=self.now, environment=environment, observers=Observers(), bury=None
        )
        self._codec = codec
        self.queues = with_large_payloads(sealed_queues(self._queues, codec), keeper)

    async def open(self) -> None:
        try:
            if self._codec is not None:
                await self._codec.load()
            await self._queues.open()
        except BaseException:
            await self.queues.close()
            raise

    async def close(self) -> None:
        await self.queues.close()
