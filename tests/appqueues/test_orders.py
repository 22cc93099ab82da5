"""Orders over a broker: posted by a storefront that has no store, accepted once, with status events in order."""

from __future__ import annotations

import asyncio
from collections import defaultdict

import pytest

from stepward import Queues
from stepward.client import session_of
from stepward.errors import PayloadTooLarge, TransportError
from tests.appqueues.shop import Shop, nothing_comes, of, told, until

pytestmark = pytest.mark.servers

IDS = [f"A-{number:03}" for number in range(100)]


async def test_an_order_from_its_post_to_its_last_event(shop: Shop) -> None:
    await shop.run()
    await shop.post("A-1", reply_to=True)
    events = await told(shop.queues.events(shop.replies))
    assert [(event.subject, event.sequence, event.type) for event in events] == [
        ("A-1", 1, "stepward.request.received"),
        ("A-1", 2, "stepward.task.started"),
        ("A-1", 3, "stepward.task.completed"),
    ]
    assert events[-1].data == {"workflow": "fulfil", "result": "tea"}
    assert await shop.placed() == ["A-1"]


async def test_many_orders_are_accepted_once_with_events_in_order(shop: Shop) -> None:
    await shop.run()
    await shop.run(supervisor=False)
    await shop.post(*IDS, reply_to=True)
    await shop.post(*IDS[::7], reply_to=True)
    heard = defaultdict(list)
    for event in await told(shop.queues.events(shop.replies), len(IDS)):
        heard[event.subject].append(event.sequence)
    assert heard == {id: [1, 2, 3] for id in IDS}
    assert sorted(await shop.placed()) == IDS


async def test_a_new_reader_goes_on_with_what_was_not_dealt_with(shop: Shop) -> None:
    await shop.run()
    async with shop.door() as door:
        await shop.post("A-1", "A-2", reply_to=True)
        events = await told(door.events(shop.replies), 2)
    async with shop.door() as door:
        again = door.events(shop.replies)
        first = await anext(again)
        rest = [await anext(again) for _ in events[events.index(first) + 1 :]]
        await shop.post("A-3", reply_to=True)
        assert (await anext(again)).subject == "A-3"
    assert [first, *rest] == events[events.index(first) :]


async def test_an_observer_takes_nothing_from_the_reader(shop: Shop) -> None:
    watched = asyncio.create_task(told(shop.queues.watch(shop.replies)))
    await asyncio.sleep(1)
    await shop.run()
    await shop.post("A-1", reply_to=True)
    seen = await watched
    assert seen == await told(shop.queues.events(shop.replies))


async def test_the_client_of_the_application_reads_from_the_broker(shop: Shop) -> None:
    app = shop.app()
    await shop.run(app)
    await shop.post("A-1", reply_to=True)
    async with app.client() as client:
        assert len(await told(client.events(shop.replies))) == 3


async def test_a_client_beside_the_application_reads_from_the_broker(shop: Shop) -> None:
    await shop.run()
    await shop.post("A-1", reply_to=True)
    async with shop.app().client() as client:
        assert len(await told(client.events(shop.replies))) == 3


async def test_messages_posted_into_the_store_are_carried_to_the_broker(shop: Shop) -> None:
    """An application that changes its transport loses nothing that waits."""
    async with Queues(shop.store, app=shop.name) as door:
        await door.post("orders", "tea", id="A-1", reply_to=shop.replies)
    await shop.run()
    assert len(await told(shop.queues.events(shop.replies))) == 3


async def test_bad_messages_are_dead_letters_and_stop_nothing(shop: Shop) -> None:
    await shop.run()
    await shop.post("A-1")
    await shop.put(b"\xff", b'{"specversion":"1.0"}', b"[" * 1000)
    await shop.post("refused", what="nothing")
    await shop.post("A-2")
    assert await shop.has_placed("A-1", "A-2") == ["A-1", "A-2"]
    letters = await shop.buried(4)
    assert {letter.queue for letter in letters} == {shop.submissions}
    assert "no such goods" in {letter.reason for letter in letters}
    assert sum(len(fields["reasons"]) for fields in of(shop.events, "submission.dead_letter")) == len(letters)
    (alert,) = await shop.client.alerts()
    assert alert.kind == "dead_letter"


def shop_event(data: bytes, id: str) -> bytes:
    return b'{"specversion":"1.0","id":"%s","source":"/web","type":"order","data":"%s"}' % (id.encode(), data)


async def test_a_message_over_the_limit_of_payloads_is_a_dead_letter(shop: Shop) -> None:
    await shop.run(shop.app(payload_bytes="100KiB", history_bytes="1MiB"))
    await shop.put(shop_event(b"x" * 200_000, "large"))
    await shop.post("A-1")
    await shop.has_placed("A-1")
    (letter,) = await shop.buried()
    assert "expected at most 102,400 bytes" in letter.reason


async def test_a_dead_letter_that_is_put_back_goes_over_the_broker(shop: Shop) -> None:
    await shop.run()
    fails = True

    async def fail(message: object) -> None:
        if fails:
            raise RuntimeError("no shelf")

    shop.plans["A-1"] = fail
    # It is refused for good before the five tries are over, so that the test need not wait for them.
    shop.plans["refused"] = fail
    await shop.post("bad", what="nothing")
    (letter,) = await shop.buried()
    assert letter.queue == shop.submissions
    assert await shop.client.put_back(letter.number) == [letter.number]
    (again,) = await shop.buried()
    assert again.number != letter.number
    assert [id for id, _ in shop.tries] == ["bad", "bad"]


async def test_an_unreadable_event_is_a_dead_letter_of_its_queue(shop: Shop) -> None:
    """The storefront has no store: a Scheduler's process buries for it."""
    await shop.run()
    await shop.put(b"foreign", to=shop.replies)
    await shop.post("A-1", reply_to=True)
    assert len(await told(shop.queues.events(shop.replies))) == 3
    (letter,) = await shop.buried()
    assert (letter.queue, letter.body) == (shop.replies, b"foreign")
    assert "expected a CloudEvent" in letter.reason


async def test_a_message_too_large_for_the_broker_is_refused(shop: Shop, broker: str) -> None:
    size = 1_048_500 if broker == "nats" else 15_800_000
    async with Queues(shop.address, app=shop.name, payload_bytes=64 * 1024**2) as door:
        with pytest.raises(PayloadTooLarge, match=r"expected a message of at most [\d,]+ bytes over (NATS|RabbitMQ)"):
            await door.post("orders", "x" * size)


async def test_an_event_that_the_broker_never_takes_is_a_dead_letter_and_the_next_one_goes(shop: Shop) -> None:
    """What it tells is larger than a message may be."""
    await shop.run(scheduler=True)
    event = shop_event(b"x" * 16_000_000, "uid-1/1")
    await session_of(shop.client).store.messages.put(shop.replies, [(event, None)])
    await shop.post("A-1", reply_to=True)
    assert len(await told(shop.queues.events(shop.replies))) == 3
    (letter,) = await shop.buried()
    assert letter.queue == shop.replies
    assert letter.reason.startswith("refused 5 times: ")
    assert len(of(shop.events, "events.dead_letter")) == 1


async def test_a_broker_out_of_reach_is_one_line(shop: Shop, broker: str) -> None:
    scheme = "nats" if broker == "nats" else "amqp"
    with pytest.raises(TransportError, match=r"expected (NATS|RabbitMQ) at 127\.0\.0\.1:1 to answer") as refused:
        async with Queues(f"{scheme}://user:canary@127.0.0.1:1", app="shop"):
            pytest.fail("opened")
    assert "\n" not in str(refused.value)
    assert "canary" not in str(refused.value)


async def test_nothing_is_left_in_the_store_once_it_is_with_the_broker(shop: Shop) -> None:
    await shop.run()
    await shop.post("A-1", reply_to=True)
    await told(shop.queues.events(shop.replies))

    async def is_empty() -> bool:
        return not await session_of(shop.client).store.messages.nonempty("replies.", 9)

    await until(is_empty)
    assert await nothing_comes(shop.queues.events(shop.replies), 0) in (True, False)


async def test_a_letter_that_the_store_would_not_take_ends_nothing(shop: Shop) -> None:
    """A login that posts may write to the queue of letters, too."""
    bad = b'{"queue":"%b","body":"eA==","reason":"no","tries":10000000000000000000}' % shop.submissions.encode()
    letters = f"letters.{shop.name}.store"
    await shop.run()
    await shop.put(bad, to=letters)
    (letter,) = await shop.buried()
    assert (letter.queue, letter.body) == (letters, bad)
    await shop.post("A-1")
    assert await shop.has_placed("A-1") == ["A-1"]
