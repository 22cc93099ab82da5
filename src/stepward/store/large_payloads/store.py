"""A store whose large payloads are kept outside it."""

from __future__ import annotations

from stepward.large_payloads import PayloadKeeper
from stepward.store.contract import (
    ClientStore,
    HostStore,
    MessageStore,
    OperatorStore,
    SchedulerStore,
    Store,
    SupervisorStore,
)
from stepward.store.large_payloads.client import LargePayloadClient
from stepward.store.large_payloads.scheduler import LargePayloadScheduler


class LargePayloadStore:
    """Implements ``Store`` around another: Schedulers and applications see payloads, the store sees references."""

    def __init__(self, inner: Store, keeper: PayloadKeeper) -> None:
        self.inner = inner
        self._scheduler = LargePayloadScheduler(inner.scheduler, keeper)
        self._client = LargePayloadClient(inner.client, keeper)

    @property
    def scheduler(self) -> SchedulerStore:
        return self._scheduler

    @property
    def supervisor(self) -> SupervisorStore:
        return self.inner.supervisor

    @property
    def client(self) -> ClientStore:
        return self._client

    @property
    def operators(self) -> OperatorStore:
        return self.inner.operators

    @property
    def host(self) -> HostStore:
        return self.inner.host

    @property
    def messages(self) -> MessageStore:
        return self.inner.messages

    def now(self) -> float:
        return self.inner.now()

    async def open(self) -> None:
        await self.inner.open()

    async def close(self) -> None:
        await self.inner.close()


def with_large_payloads(store: Store, keeper: PayloadKeeper | None) -> Store:
    """The store itself where all payloads stay in it."""
    return store if keeper is None else LargePayloadStore(store, keeper)
