"""A wake of another kind costs a waiting reader no look, and one during a look is not lost."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

from stepward.model.messages.change_kinds import REPLIES, REQUESTS
from stepward.store.contract import StoredMessage
from stepward.transport.store.store_queues import Messages, StoreQueues
from tests.virtual import settle

FOR_EVER = 3_600.0


class Looked:
    """Counts looks; the first one meets a wake of ``during`` on its way back."""

    def __init__(self, during: int = 0) -> None:
        self.looks = 0
        self._during = during
        self.queues = StoreQueues(cast("Messages", self), poll=FOR_EVER)

    async def take(self, queue: str, limit: int, lease: float) -> Sequence[StoredMessage]:
        self.looks += 1
        if self.looks == 1:
            self.queues.wake(self._during)
            return []
        return [StoredMessage(1, b"{}", 1)]


async def looks_after(messages: Looked, woken: int = 0) -> int:
    taking = asyncio.create_task(messages.queues.take("agents.card", 1, 1.0))
    await settle()
    messages.queues.wake(woken)
    await settle()
    taking.cancel()
    await asyncio.gather(taking, return_exceptions=True)
    return messages.looks


async def test_a_reader_looks_again_for_its_own_kind_only() -> None:
    assert await looks_after(Looked(), woken=REPLIES) == 1
    assert await looks_after(Looked(), woken=REQUESTS) == 2


async def test_a_wake_during_a_look_is_not_lost() -> None:
    assert await looks_after(Looked(during=REQUESTS)) == 2
    assert await looks_after(Looked(during=REPLIES)) == 1
