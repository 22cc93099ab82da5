"""What a process holds at a broker ends with its users, and a cancelled caller leaves no error unretrieved."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Collection, Mapping, Sequence

from stepward.errors import TransportError
from stepward.events import Observers
from stepward.transport.queues.backend_contract import Posted, ResponseQueue, WorkQueue
from stepward.transport.queues.broker_queues import BrokerQueues
from stepward.transport.queues.contract import QueuedMessage

REPLIES = "replies.shop.web"


class Part:
    """A queue that gives one message, and knows when it is closed."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    async def read(self, after: int, limit: int) -> Sequence[QueuedMessage]:
        return [QueuedMessage(after + 1, b"1")]

    def given(self, token: int) -> QueuedMessage | None:
        return None

    async def settle(self, tokens: Sequence[int]) -> None: ...

    async def close(self) -> None:
        assert not self.closed.is_set()
        self.closed.set()


class Parts:
    """A depot of these."""

    name, limit = "none", 1000

    def __init__(self) -> None:
        self.made: list[Part] = []

    async def open(self) -> None: ...

    async def append(self, queue: str, posted: Posted) -> None: ...

    async def nonempty(self, prefix: str, known: Collection[str]) -> Mapping[str, bool | None]:
        return {}

    def work(self, queue: str) -> WorkQueue:
        raise AssertionError("nobody takes")

    def responses(self, queue: str, *, watches: bool) -> ResponseQueue:
        self.made.append(Part())
        return self.made[-1]

    async def close(self) -> None: ...


async def test_a_closed_observer_receives_no_more() -> None:
    parts = Parts()
    queues = BrokerQueues(parts, app="shop", new_uid=str, observers=Observers(), bury=None)
    gone, stays = queues.watch(REPLIES), queues.watch(REPLIES)
    for watching in (gone, stays):
        await watching.read(0, 9)
    del gone, watching
    queues.watch(REPLIES)
    await parts.made[0].closed.wait()
    assert [part.closed.is_set() for part in parts.made] == [True, False, False]
    await stays.read(1, 9)
    await queues.close()
    assert [part.closed.is_set() for part in parts.made] == [True, True, False]


class LosingPart(Part):
    """Loses its connection while its reader gives up."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def read(self, after: int, limit: int) -> Sequence[QueuedMessage]:
        self.asked.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        raise TransportError("connection lost")


class LosingParts(Parts):
    """A depot of one of these."""

    def __init__(self) -> None:
        super().__init__()
        self.part = LosingPart()

    def responses(self, queue: str, *, watches: bool) -> ResponseQueue:
        return self.part


async def test_an_error_during_a_readers_cancellation_is_dropped() -> None:
    told: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["message"]))
    parts = LosingParts()
    queues = BrokerQueues(parts, app="shop", new_uid=str, observers=Observers(), bury=None)
    reading = asyncio.create_task(queues.read(REPLIES, 0, 1))
    await parts.part.asked.wait()
    reading.cancel()
    await asyncio.wait({reading})
    assert reading.cancelled()
    del reading
    await queues.close()
    gc.collect()
    assert told == []
