"""Queues of applications that forward to others: the base of those that change what messages carry."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from stepward.model.messages.change_kinds import EVERYTHING, Kinds
from stepward.transport.queues.contract import NO_EVENTS, AppQueues, Stored, Watching


@dataclass(frozen=True, slots=True)
class ForwardingQueues:
    """Implements ``AppQueues`` by others; what derives from it overrides the verbs that it changes."""

    inner: AppQueues

    async def put(self, queue: str, bodies: Sequence[tuple[bytes, float | None]]) -> None:
        await self.inner.put(queue, bodies)

    async def take(self, queue: str, limit: int, lease: float) -> Sequence[Stored]:
        return await self.inner.take(queue, limit, lease)

    async def read(self, queue: str, after: int, limit: int) -> Sequence[Stored]:
        return await self.inner.read(queue, after, limit)

    def watch(self, queue: str) -> Watching:
        return self.inner.watch(queue)

    async def settle(self, queue: str, tokens: Sequence[int]) -> None:
        await self.inner.settle(queue, tokens)

    async def extend(self, queue: str, tokens: Sequence[int], lease: float) -> None:
        """As ``AppQueues.extend``."""
        await self.inner.extend(queue, tokens, lease)

    async def nonempty(self, prefix: str, known: Collection[str]) -> Mapping[str, bool | None]:
        """As ``AppQueues.nonempty``."""
        return await self.inner.nonempty(prefix, known)

    async def bury(
        self, queue: str, dead_letters: Sequence[tuple[int, str]], events: Mapping[int, tuple[str, bytes]] = NO_EVENTS
    ) -> None:
        await self.inner.bury(queue, dead_letters, events)

    def wake(self, kinds: Kinds = EVERYTHING) -> None:
        self.inner.wake(kinds)

    @property
    def closed(self) -> bool:
        return self.inner.closed

    async def close(self) -> None:
        await self.inner.close()
