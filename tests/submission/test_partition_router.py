"""A router settles a message once it is in the part of its partition, and loses none that it cannot carry."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import cast

from stepward.errors import PayloadTooLarge, TransportError
from stepward.events import Event, Observers
from stepward.submission import PartitionRouter
from stepward.transport.queues.contract import NO_EVENTS, AppQueues, QueuedMessage

ENTRY = "submissions.shop.orders"
PLACES = {"here": "p1", "there": "p2", "large": "p2", "refused": "p3", "moving": None}


class Recording:
    """Queues with messages to take once; it records what is done with them."""

    def __init__(self, ids: Sequence[str], expires_at: float | None = None) -> None:
        self.waiting = [
            QueuedMessage(token=number, body=message(id), expires_at=expires_at) for number, id in enumerate(ids, 1)
        ]
        self.put_into: dict[str, list[bytes]] = {}
        self.expiries: list[float | None] = []
        self.settled: list[int] = []
        self.later: dict[float, list[int]] = {}
        self.buried: list[tuple[int, str]] = []
        self.empty = asyncio.Event()

    async def take(self, queue: str, limit: int, lease: float) -> Sequence[QueuedMessage]:
        assert queue == ENTRY
        if not self.waiting:
            self.empty.set()
            await asyncio.Event().wait()
        taken, self.waiting = self.waiting, []
        return taken

    async def put(self, queue: str, bodies: Sequence[tuple[bytes, float | None]]) -> None:
        if queue.startswith("submissions.shop.p3."):
            raise TransportError("expected room, found none")
        for body, expires_at in bodies:
            self.expiries.append(expires_at)
            if body == message("large"):
                raise PayloadTooLarge("expected less")
            self.put_into.setdefault(queue, []).append(body)

    async def settle(self, queue: str, tokens: Sequence[int]) -> None:
        assert queue == ENTRY
        self.settled += tokens

    async def extend(self, queue: str, tokens: Sequence[int], lease: float) -> None:
        assert queue == ENTRY
        self.later.setdefault(lease, []).extend(tokens)

    async def bury(
        self, queue: str, dead_letters: Sequence[tuple[int, str]], events: Mapping[int, tuple[str, bytes]] = NO_EVENTS
    ) -> None:
        assert queue == ENTRY
        self.buried += dead_letters


def message(id: str) -> bytes:
    return b'{"specversion":"1.0","id":"%b","source":"/web","type":"order"}' % id.encode()


async def placed(id: str) -> str | None:
    return PLACES.get(id, "p1")


async def routed(*ids: str, expires_at: float | None = None) -> tuple[Recording, list[Event]]:
    """What a router does with messages of these ids, and the events that it emits."""
    queues, events = Recording(ids, expires_at), list[Event]()
    router = PartitionRouter(cast(AppQueues, queues), ENTRY, placed, Observers(events.append))
    running = asyncio.create_task(router.run())
    await queues.empty.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return queues, events


async def test_messages_go_to_the_parts_of_their_partitions_and_are_settled() -> None:
    queues, _ = await routed("here", "there")
    assert queues.put_into == {
        "submissions.shop.p1.orders": [message("here")],
        "submissions.shop.p2.orders": [message("there")],
    }
    assert (queues.settled, queues.later) == ([1, 2], {})


async def test_a_message_expires_in_its_part_when_it_would_have_expired() -> None:
    queues, _ = await routed("here", "there", expires_at=7.0)
    assert queues.expiries == [7.0, 7.0]


async def test_a_message_that_a_part_does_not_take_stays_and_holds_no_other_up() -> None:
    queues, events = await routed("refused", "here", "refused")
    assert queues.settled == [2]
    assert list(queues.later.values()) == [[1, 3]]
    (event,) = events
    assert event.name == "submission.queue_failed"
    assert event.fields["queue"] == "submissions.shop.p3.orders"


async def test_a_message_whose_shard_is_on_its_way_stays() -> None:
    queues, events = await routed("moving", "here")
    assert (queues.settled, list(queues.later.values()), events) == ([2], [[1]], [])
    assert list(queues.put_into) == ["submissions.shop.p1.orders"]


async def test_a_message_that_is_too_large_for_its_part_is_a_dead_letter() -> None:
    queues, _ = await routed("large")
    assert queues.buried == [(1, "expected less")]


async def test_what_is_no_message_goes_to_some_partition() -> None:
    queues = Recording([])
    queues.waiting = [QueuedMessage(token=1, body=b"no message")]
    router = PartitionRouter(cast(AppQueues, queues), ENTRY, placed, Observers())
    running = asyncio.create_task(router.run())
    await queues.empty.wait()
    await router.drain(1.0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert (queues.put_into, queues.settled) == ({"submissions.shop.p1.orders": [b"no message"]}, [1])
