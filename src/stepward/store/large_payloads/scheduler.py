"""The Scheduler's part of a store whose large payloads are kept outside it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager

from msgspec.structs import replace

from stepward.large_payloads import PayloadKeeper
from stepward.model.messages.requests import Progress, Reply
from stepward.model.records import History, InboxRow
from stepward.store.contract import (
    Change,
    Committed,
    Least,
    SchedulerStore,
    Transaction,
    UnownedSteps,
    WatchedPlace,
)
from stepward.store.large_payloads.changes import put_change
from stepward.store.large_payloads.histories import fetch_history, fetch_inbox_row


class LargePayloadScheduler:
    """Implements ``SchedulerStore`` around another.

    While the object store cannot be reached its verbs raise StoreUnavailable, as the store's own do, and change
    nothing; tasks that were claimed meanwhile are given with the next claim.
    """

    def __init__(self, inner: SchedulerStore, keeper: PayloadKeeper) -> None:
        self._inner = inner
        self._keeper = keeper
        self._claimed: dict[str, list[History]] = {}
        """By instance, what is claimed and not fetched yet."""

    @property
    def transactional_steps(self) -> int:
        """As ``SchedulerStore.transactional_steps``."""
        return self._inner.transactional_steps

    def now(self) -> float:
        return self._inner.now()

    async def claim(
        self, instance: str, workflows: Sequence[tuple[str, str]], limit: int, least: Least | None = None
    ) -> list[History]:
        """As ``SchedulerStore.claim``."""
        waiting = self._claimed.get(instance)
        claimed = waiting or await self._inner.claim(instance, workflows, limit, least)
        self._claimed = {instance: claimed}
        found = await self._fetched(claimed)
        self._claimed = {}
        return found

    async def load(self, instance: str, tasks: Sequence[str], *, are_long: bool = False) -> list[History]:
        """As ``SchedulerStore.load``."""
        return await self._fetched(await self._inner.load(instance, tasks, are_long=are_long))

    async def read_inbox(self, instance: str, after: int) -> list[InboxRow]:
        """As ``SchedulerStore.read_inbox``."""
        rows = await self._inner.read_inbox(instance, after)
        return await asyncio.gather(*(fetch_inbox_row(self._keeper, row) for row in rows))

    async def next_wake(self) -> float | None:
        return self._inner.now() if self._claimed else await self._inner.next_wake()

    async def next_start(self) -> float | None:
        """As ``SchedulerStore.next_start``."""
        return await self._inner.next_start()

    async def commit(self, instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        """As ``SchedulerStore.commit``."""
        put = [await put_change(self._keeper, change) for change in changes]
        return await self._inner.commit(instance, put, renew)

    async def settle_misrouted(self, replies: Sequence[Reply]) -> None:
        """As ``SchedulerStore.settle_misrouted``."""
        await self._inner.settle_misrouted([await self._put_reply(reply) for reply in replies])

    async def unowned_steps(self, after: WatchedPlace, agents: Collection[str] | None, limit: int) -> UnownedSteps:
        """As ``SchedulerStore.unowned_steps``."""
        return await self._inner.unowned_steps(after, agents, limit)

    async def note_progress(self, updates: Sequence[Progress]) -> set[tuple[str, int, str]]:
        """As ``SchedulerStore.note_progress``."""
        return await self._inner.note_progress(updates)

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        return self._inner.transaction()

    async def _fetched(self, histories: Sequence[History]) -> list[History]:
        return await asyncio.gather(*(fetch_history(self._keeper, history) for history in histories))

    async def _put_reply(self, reply: Reply) -> Reply:
        output = None if reply.output is None else await self._keeper.put(reply.task, reply.output)
        error = None if reply.error is None else await self._keeper.put(reply.task, reply.error, keeps_fields=True)
        return replace(reply, output=output, error=error)
