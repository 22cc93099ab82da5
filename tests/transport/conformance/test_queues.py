"""What the applications' own queues do, wherever they stand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from stepward.errors import TransportError
from stepward.transport.queues import AppQueues, Stored
from tests.virtual import START, settle

QUEUE = "submissions.shop.orders"
LEASE = 30.0


def bodies(stored: Sequence[Stored]) -> list[bytes]:
    return [message.body for message in stored]


async def put(queues: AppQueues, *messages: bytes) -> None:
    await queues.put(QUEUE, [(body, None) for body in messages])


async def nothing_comes(waiting: Awaitable[object], seconds: float = 5) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await waiting
    except TimeoutError:
        return True
    return False


async def test_what_is_put_is_taken_once_in_order(queues: AppQueues) -> None:
    await put(queues, b"1", b"2")
    await put(queues, b"3")
    await queues.put("submissions.shop.other", [(b"x", None)])
    assert bodies(await queues.take(QUEUE, 2, LEASE)) == [b"1", b"2"]
    assert bodies(await queues.take(QUEUE, 9, LEASE)) == [b"3"]
    assert await nothing_comes(queues.take(QUEUE, 9, LEASE))


async def test_what_is_not_settled_returns_counted(queues: AppQueues) -> None:
    await put(queues, b"1", b"2")
    first, _ = await queues.take(QUEUE, 9, LEASE)
    await queues.settle(QUEUE, [first.token])
    (again,) = await queues.take(QUEUE, 9, LEASE)
    assert (again.body, again.tries) == (b"2", 2)
    assert asyncio.get_running_loop().time() >= START + LEASE


async def test_an_extended_message_returns_later(queues: AppQueues) -> None:
    await put(queues, b"1")
    (message,) = await queues.take(QUEUE, 9, LEASE)
    await queues.extend(QUEUE, [message.token], 3 * LEASE)
    await queues.take(QUEUE, 9, LEASE)
    assert asyncio.get_running_loop().time() >= START + 3 * LEASE


async def test_a_buried_message_never_returns(queues: AppQueues) -> None:
    await put(queues, b"1")
    (message,) = await queues.take(QUEUE, 9, LEASE)
    await queues.bury(QUEUE, [(message.token, "no such goods")])
    assert await nothing_comes(queues.take(QUEUE, 9, LEASE), 3 * LEASE)


async def test_a_take_waits_until_something_is_put(queues: AppQueues) -> None:
    taking = asyncio.create_task(queues.take(QUEUE, 9, LEASE))
    await settle()
    assert not taking.done()
    await put(queues, b"1")
    assert bodies(await taking) == [b"1"]
    assert asyncio.get_running_loop().time() == pytest.approx(START, abs=0.1)


async def test_a_reader_reads_on_and_begins_anew_with_what_is_not_settled(queues: AppQueues) -> None:
    await put(queues, b"1", b"2", b"3")
    first, second = await queues.read(QUEUE, 0, 2)
    assert bodies(await queues.read(QUEUE, second.token, 9)) == [b"3"]
    await queues.settle(QUEUE, [first.token])
    assert bodies(await queues.read(QUEUE, 0, 9)) == [b"2", b"3"]


async def test_a_reader_waits_for_what_follows(queues: AppQueues) -> None:
    await put(queues, b"1")
    (last,) = await queues.read(QUEUE, 0, 9)
    reading = asyncio.create_task(queues.read(QUEUE, last.token, 9))
    await settle()
    assert not reading.done()
    await put(queues, b"2")
    assert bodies(await reading) == [b"2"]


@pytest.mark.parametrize(
    "verb",
    [
        lambda queues: queues.put(QUEUE, [(b"1", None)]),
        lambda queues: queues.take(QUEUE, 1, LEASE),
        lambda queues: queues.read(QUEUE, 0, 1),
        lambda queues: queues.settle(QUEUE, [1]),
        lambda queues: queues.extend(QUEUE, [1], LEASE),
        lambda queues: queues.bury(QUEUE, [(1, "no")]),
    ],
)
async def test_once_closed_every_verb_refuses(queues: AppQueues, verb: Callable[[AppQueues], Awaitable[Any]]) -> None:
    before = queues.closed
    await queues.close()
    assert (before, queues.closed) == (False, True)
    with pytest.raises(TransportError, match="found it closed"):
        await verb(queues)


@pytest.mark.parametrize("waits", ["take", "read"])
async def test_closing_ends_what_waits(queues: AppQueues, waits: str) -> None:
    waiting = asyncio.ensure_future(queues.take(QUEUE, 1, LEASE) if waits == "take" else queues.read(QUEUE, 0, 1))
    await settle()
    await queues.close()
    with pytest.raises(TransportError, match="found it closed"):
        await waiting
