"""What the applications' own queues do, wherever they stand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from stepward.errors import TransportError
from stepward.transport.queues.contract import AppQueues, Stored
from tests.tiers import nightly, served
from tests.transport.conformance import yards
from tests.transport.conformance.pace import LEAPING, REAL, Pace, be_real
from tests.transport.conformance.yards import Open, Yard

QUEUE = "submissions.shop.orders"
REPLIES = "replies.shop.web"
BOUND = 1000.0


@pytest.fixture(
    params=[
        *yards.LEAPING,
        *(
            nightly(each) if each in (yards.nats3, yards.amqp10, yards.activemq, yards.service_bus) else served(each)
            for each in yards.REAL
        ),
    ]
)
def opened(request: pytest.FixtureRequest) -> Open:
    """Every place that there is; add another as a function in ``yards``."""
    found: Open = request.param
    return found


@pytest.fixture
def pace(opened: Open) -> Pace:
    return REAL if opened in yards.REAL else LEAPING


@pytest.fixture
async def yard(opened: Open, pace: Pace, tmp_path: Path) -> AsyncIterator[Yard]:
    if pace is REAL:
        be_real()
    async for yard in opened(tmp_path):
        yield yard
        await yard.close()


@pytest.fixture
def queues(yard: Yard) -> AppQueues:
    return yard.queues


def needs_copies(yard: Yard) -> None:
    if not yard.copies:
        pytest.skip("events are not copied for observers there")


def bodies(stored: Sequence[Stored]) -> list[bytes]:
    return [message.body for message in stored]


async def put(queues: AppQueues, *messages: bytes, to: str = QUEUE) -> None:
    await queues.put(to, [(body, None) for body in messages])


async def nothing_comes(waiting: Awaitable[object], seconds: float) -> bool:
    task = asyncio.ensure_future(waiting)
    await asyncio.wait({task}, timeout=seconds)
    came = task.done()
    task.cancel()
    await asyncio.wait({task})
    return not came


async def taken(queues: AppQueues, count: int, lease: float) -> list[Stored]:
    """So many, in as many takes as it needs."""
    found: list[Stored] = []
    async with asyncio.timeout(BOUND):
        while len(found) < count:
            found += await queues.take(QUEUE, count - len(found), lease)
    return found


async def read(queues: AppQueues, after: int, count: int) -> list[Stored]:
    """So many that follow, in as many looks as it needs."""
    found: list[Stored] = []
    async with asyncio.timeout(BOUND):
        while len(found) < count:
            found += await queues.read(REPLIES, found[-1].token if found else after, count - len(found))
    return found


async def read_up_to(queues: AppQueues, last: bytes) -> list[Stored]:
    """Whatever there is, up to that one: what is missing is seen at once, not waited for."""
    found = await read(queues, 0, 1)
    while found[-1].body != last:
        found += await read(queues, found[-1].token, 1)
    return found


# ---------------------------------------------------------------- many take


async def test_messages_are_taken_once_in_order(queues: AppQueues, pace: Pace) -> None:
    await put(queues, b"1", b"2")
    await put(queues, b"3")
    await queues.put("submissions.shop.other", [(b"x", None)])
    assert bodies(await taken(queues, 2, 30)) == [b"1", b"2"]
    assert bodies(await taken(queues, 1, 30)) == [b"3"]
    assert await nothing_comes(queues.take(QUEUE, 9, 30), pace.short)


@pytest.mark.parametrize("name", ["a.b", "a..b", ".", "-", "A_b-c.9.", "x" * 100])
async def test_a_queue_may_have_any_name(queues: AppQueues, pace: Pace, name: str) -> None:
    for kind in ("submissions", "replies"):
        await queues.put(f"{kind}.shop.{name}", [(b"1", None)])
        await queues.put(f"{kind}.shop.{name.replace('.', '_')}_", [(b"other", None)])
    (one,) = await queues.take(f"submissions.shop.{name}", 9, 30)
    (told,) = await queues.read(f"replies.shop.{name}", 0, 9)
    assert (one.body, told.body) == (b"1", b"1")


async def test_a_message_carries_the_end_of_its_lease(queues: AppQueues, pace: Pace) -> None:
    if pace is LEAPING:
        await put(queues, b"1")
        (message,) = await queues.take(QUEUE, 9, pace.lease)
        assert message.taken_until <= pace.now() + pace.lease


async def test_unsettled_messages_return_with_a_count(queues: AppQueues, pace: Pace) -> None:
    await put(queues, b"1", b"2")
    began = pace.now()
    first, _ = await taken(queues, 2, pace.lease)
    await queues.settle(QUEUE, [first.token])
    (again,) = await taken(queues, 1, pace.lease)
    assert (again.body, again.tries) == (b"2", 2)
    assert pace.now() >= began + pace.lease * 0.9


async def test_a_returned_message_is_given_alone(queues: AppQueues, pace: Pace) -> None:
    await put(queues, b"1", b"2")
    await taken(queues, 2, pace.lease)
    await put(queues, b"3", b"4")
    await asyncio.sleep(pace.lease * 1.2)
    found: list[list[tuple[bytes, bool]]] = []
    async with asyncio.timeout(BOUND):
        while {body for together in found for body, _ in together} != {b"1", b"2", b"3", b"4"}:
            stored = await queues.take(QUEUE, 9, pace.lease)
            found.append([(each.body, each.tries > 1) for each in stored])
            await queues.settle(QUEUE, [each.token for each in stored])
    alone = [together for together in found if any(returned for _, returned in together)]
    # A broker may have called one back that it had sent already: it counts as returned.
    assert {together[0][0] for together in alone} >= {b"1", b"2"}
    assert all(len(together) == 1 for together in alone)


async def test_an_extended_message_returns_later(queues: AppQueues, pace: Pace) -> None:
    await put(queues, b"1")
    (message,) = await queues.take(QUEUE, 9, pace.lease)
    extended = pace.now()
    await queues.extend(QUEUE, [message.token], 3 * pace.lease)
    (again,) = await taken(queues, 1, pace.lease)
    assert (again.body, again.tries) == (b"1", 2)
    assert pace.now() >= extended + 3 * pace.lease - 0.2


async def test_an_extended_message_that_is_settled_never_returns(queues: AppQueues, pace: Pace) -> None:
    await put(queues, b"1")
    (message,) = await queues.take(QUEUE, 9, pace.lease)
    await queues.extend(QUEUE, [message.token], pace.lease)
    await queues.settle(QUEUE, [message.token])
    assert await nothing_comes(queues.take(QUEUE, 9, pace.lease), 2 * pace.lease)


async def test_a_postponed_message_blocks_no_other(queues: AppQueues, pace: Pace) -> None:
    await put(queues, b"1")
    (message,) = await taken(queues, 1, pace.lease)
    await asyncio.sleep(pace.lease * 1.2)
    (message,) = await taken(queues, 1, pace.lease)
    await queues.extend(QUEUE, [message.token], 30 * pace.lease)
    await put(queues, b"2", b"3")
    assert bodies(await taken(queues, 2, pace.lease)) == [b"2", b"3"]


async def test_a_buried_message_never_returns_and_lies_with_its_reason(
    yard: Yard, queues: AppQueues, pace: Pace
) -> None:
    await put(queues, b"1")
    (message,) = await queues.take(QUEUE, 9, pace.lease)
    await queues.bury(QUEUE, [(message.token, "no such goods")])
    assert await nothing_comes(queues.take(QUEUE, 9, pace.lease), 3 * pace.lease)
    assert await yard.letters() == [(b"1", "no such goods")]


async def test_a_take_waits_until_something_is_put(queues: AppQueues, pace: Pace) -> None:
    taking = asyncio.create_task(queues.take(QUEUE, 9, pace.lease))
    await pace.settle()
    assert not taking.done()
    began = pace.now()
    await put(queues, b"1")
    assert bodies(await taking) == [b"1"]
    assert pace.now() - began < 1


async def test_a_take_that_is_given_up_takes_nothing_along_for_good(queues: AppQueues, pace: Pace) -> None:
    assert await nothing_comes(queues.take(QUEUE, 9, pace.lease), pace.short)
    await put(queues, b"1", b"2")
    assert sorted(bodies(await taken(queues, 2, 30))) == [b"1", b"2"]


async def test_takers_share(yard: Yard, pace: Pace) -> None:
    sent = [b"%d" % number for number in range(50)]
    await put(yard.queues, *sent)
    found: list[bytes] = []
    done = asyncio.Event()

    async def work(queues: AppQueues) -> None:
        while True:
            stored = await queues.take(QUEUE, 10, 30)
            found.extend(bodies(stored))
            await queues.settle(QUEUE, [each.token for each in stored])
            if len(found) >= len(sent):
                done.set()

    workers = [asyncio.create_task(work(queues)) for queues in (yard.queues, yard.another())]
    async with asyncio.timeout(BOUND):
        await done.wait()
    for worker in workers:
        worker.cancel()
    await asyncio.wait(workers)
    assert sorted(found, key=int) == sent


async def test_expired_messages_are_never_taken(yard: Yard, queues: AppQueues, pace: Pace) -> None:
    now = yard.now()
    await queues.put(QUEUE, [(b"old", now + pace.short), (b"new", None), (b"later", now + 100 * pace.lease)])
    await asyncio.sleep(pace.short * 1.1)
    assert bodies(await taken(queues, 2, 30)) == [b"new", b"later"]


# ---------------------------------------------------------------- one reads


async def test_a_reader_reads_on_and_starts_again_with_what_is_not_settled(queues: AppQueues) -> None:
    await put(queues, b"1", b"2", b"3", to=REPLIES)
    first, second = await read(queues, 0, 2)
    assert bodies(await read(queues, second.token, 1)) == [b"3"]
    await queues.settle(REPLIES, [first.token])
    assert bodies(await read(queues, 0, 2)) == [b"2", b"3"]


async def test_a_reader_that_could_not_go_on_reads_the_same_again(queues: AppQueues) -> None:
    await put(queues, b"1", b"2", to=REPLIES)
    (first,) = await read(queues, 0, 1)
    (second,) = await read(queues, first.token, 1)
    assert await read(queues, first.token, 1) == [second]


async def test_a_reader_waits_for_what_follows(queues: AppQueues, pace: Pace) -> None:
    await put(queues, b"1", to=REPLIES)
    (last,) = await queues.read(REPLIES, 0, 9)
    reading = asyncio.create_task(queues.read(REPLIES, last.token, 9))
    await pace.settle()
    assert not reading.done()
    await put(queues, b"2", to=REPLIES)
    assert bodies(await reading) == [b"2"]


async def test_another_reader_has_all_that_was_not_settled_first_and_in_order(yard: Yard) -> None:
    sent = [b"%d" % number for number in range(1, 41)]
    await put(yard.queues, *sent, to=REPLIES)
    found = await read(yard.queues, 0, 40)
    await yard.queues.settle(REPLIES, [each.token for each in found[:10]])
    await yard.queues.close()
    other = yard.another()
    await put(other, b"41", to=REPLIES)
    assert bodies(await read(other, 0, 31)) == [*sent[10:], b"41"]


async def test_a_message_settled_out_of_order_never_returns(yard: Yard) -> None:
    await put(yard.queues, b"1", b"2", b"3", to=REPLIES)
    _, second, _ = await read(yard.queues, 0, 3)
    await yard.queues.settle(REPLIES, [second.token])
    await yard.queues.close()
    other = yard.another()
    await put(other, b"4", to=REPLIES)
    assert bodies(await read_up_to(other, b"4")) == [b"1", b"3", b"4"]


async def test_a_readers_dead_letter_never_returns_and_keeps_its_reason(yard: Yard) -> None:
    await put(yard.queues, b"1", b"bad", b"3", to=REPLIES)
    _, bad, _ = await read(yard.queues, 0, 3)
    await yard.queues.bury(REPLIES, [(bad.token, "expected sense")])
    assert await yard.letters() == [(b"bad", "expected sense")]
    await yard.queues.close()
    assert bodies(await read(yard.another(), 0, 2)) == [b"1", b"3"]


async def test_a_read_that_is_given_up_loses_nothing(queues: AppQueues, pace: Pace) -> None:
    assert await nothing_comes(queues.read(REPLIES, 0, 9), pace.short)
    await put(queues, b"1", b"2", to=REPLIES)
    assert bodies(await read(queues, 0, 2)) == [b"1", b"2"]


async def test_expired_messages_are_not_read(yard: Yard, queues: AppQueues, pace: Pace) -> None:
    await queues.put(REPLIES, [(b"old", yard.now() + pace.short), (b"new", None)])
    await asyncio.sleep(pace.short * 1.1)
    assert bodies(await read(queues, 0, 1)) == [b"new"]


async def test_an_observer_takes_nothing_from_the_reader(yard: Yard, queues: AppQueues, pace: Pace) -> None:
    needs_copies(yard)
    watching = queues.watch(REPLIES)
    waiting = asyncio.create_task(watching.read(0, 1))
    await pace.settle()
    await put(queues, b"1", b"2", to=REPLIES)
    (seen,) = await waiting
    (also,) = await watching.read(seen.token, 1)
    assert bodies([seen, also]) == [b"1", b"2"]
    assert bodies(await read(queues, 0, 2)) == [b"1", b"2"]


async def test_concurrent_observers_see_the_same(yard: Yard, queues: AppQueues, pace: Pace) -> None:
    needs_copies(yard)
    one, other = queues.watch(REPLIES), queues.watch(REPLIES)
    waiting = [asyncio.create_task(each.read(0, 1)) for each in (one, other)]
    await pace.settle()
    await put(queues, b"1", b"2", b"3", to=REPLIES)
    (first,), (slow,) = await asyncio.gather(*waiting)
    (second,) = await one.read(first.token, 1)
    (third,) = await one.read(second.token, 1)
    (behind,) = await other.read(slow.token, 1)
    assert bodies([first, second, third]) == [b"1", b"2", b"3"]
    assert bodies([slow, behind]) == [b"1", b"2"]


# ---------------------------------------------------------------- the end


@pytest.mark.parametrize(
    "verb",
    [
        lambda queues: queues.put(QUEUE, [(b"1", None)]),
        lambda queues: queues.take(QUEUE, 1, 30),
        lambda queues: queues.read(REPLIES, 0, 1),
        lambda queues: queues.watch(REPLIES).read(0, 1),
        lambda queues: queues.settle(QUEUE, [1]),
        lambda queues: queues.extend(QUEUE, [1], 30),
        lambda queues: queues.bury(QUEUE, [(1, "no")]),
    ],
)
async def test_once_closed_every_verb_refuses(queues: AppQueues, verb: Callable[[AppQueues], Awaitable[Any]]) -> None:
    before = queues.closed
    await queues.close()
    assert (before, queues.closed) == (False, True)
    with pytest.raises(TransportError, match="found it closed"):
        await verb(queues)


@pytest.mark.parametrize("waits", ["take", "read", "watch"])
async def test_closing_ends_what_waits(yard: Yard, queues: AppQueues, pace: Pace, waits: str) -> None:
    if waits == "watch":
        needs_copies(yard)
    verbs = {
        "take": lambda: queues.take(QUEUE, 1, 30),
        "read": lambda: queues.read(REPLIES, 0, 1),
        "watch": lambda: queues.watch(REPLIES).read(0, 1),
    }
    waiting = asyncio.ensure_future(verbs[waits]())
    await pace.settle()
    await queues.close()
    with pytest.raises(TransportError, match="found it closed"):
        await waiting


async def test_unknown_tokens_change_nothing(queues: AppQueues) -> None:
    await put(queues, b"1")
    await put(queues, b"2", to=REPLIES)
    for queue in (QUEUE, REPLIES):
        await queues.settle(queue, [999])
        await queues.bury(queue, [(999, "no")])
    await queues.extend(QUEUE, [999], 30)
    assert bodies(await taken(queues, 1, 30)) == [b"1"]
    assert bodies(await read(queues, 0, 1)) == [b"2"]
