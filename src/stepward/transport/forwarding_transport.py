"""A transport that forwards to another: the base of those that change what messages carry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from stepward.transport.contract import AgentMessage, Delivery, Lost, OnAnnouncement, Revoked, Transport


@dataclass(frozen=True, slots=True)
class ForwardingTransport:
    """Implements ``Transport`` by another; what derives from it overrides the verbs that it changes."""

    inner: Transport

    async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
        await self.inner.publish(queue, messages)

    async def take(self, queue: str, limit: int, lease: float) -> list[Delivery]:
        return await self.inner.take(queue, limit, lease)

    async def settle(self, queue: str, deliveries: Sequence[Delivery]) -> None:
        await self.inner.settle(queue, deliveries)

    async def extend(self, queue: str, deliveries: Sequence[Delivery], lease: float) -> Sequence[Delivery]:
        """As ``Transport.extend``."""
        return await self.inner.extend(queue, deliveries, lease)

    async def revoke(self, queue: str, task: str, run: int, key: str, attempt: int = 0) -> None:
        """As ``Transport.revoke``."""
        await self.inner.revoke(queue, task, run, key, attempt)

    async def remind(self, queue: str) -> None:
        await self.inner.remind(queue)

    def on_revoke(self, queue: str, listener: Revoked) -> Callable[[], None]:
        return self.inner.on_revoke(queue, listener)

    def on_lost(self, listener: Lost) -> Callable[[], None]:
        return self.inner.on_lost(listener)

    def expect(self, queue: str) -> None:
        self.inner.expect(queue)

    def on_announcement(self, listener: OnAnnouncement) -> Callable[[], None]:
        return self.inner.on_announcement(listener)

    async def adopt(self, queues: Collection[str], heir: str, live: Collection[str] | None = None) -> None:
        """As ``Transport.adopt``."""
        await self.inner.adopt(queues, heir, live)

    async def release(self, queue: str) -> None:
        await self.inner.release(queue)

    async def close(self) -> None:
        await self.inner.close()
