from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from stepward.errors import StoreUnavailable, TransportError
from stepward.events import Event, Observers
from stepward.model.messages.requests import CheckedReply, Outcome, Reply
from stepward.transport.store.store_transport import StoreTransport
from tests.transport.messages import request
from tests.transport.small_store import Row, SmallStore
from tests.virtual import START, settle

QUEUE = "agents.payments"


class Opened:
    def __init__(self, hint: Callable[[], bool] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        self.store = SmallStore(self.loop.time)
        self.other = StoreTransport(self.store, poll=60, hint=None)
        self.events: list[Event] = []
        self.transport = StoreTransport(self.store, poll=10, hint=hint, observers=Observers(self.events.append))

    async def taken_at(self) -> float:
        await self.transport.take(QUEUE, 10, 30)
        return self.loop.time() - START


async def test_without_a_hint_a_poll_finds_what_others_put() -> None:
    opened = Opened()
    taking = asyncio.create_task(opened.taken_at())
    await settle()
    await opened.other.publish(QUEUE, [request()])
    assert await taking == pytest.approx(10, abs=0.1)


async def test_a_reply_that_was_checked_in_its_process_arrives_as_any_reply() -> None:
    opened = Opened()
    said: dict[str, Any] = {"task": "a", "run": 1, "key": "svc.do/1", "attempt": 1, "outcome": Outcome.COMPLETED}
    await opened.other.publish(QUEUE, [CheckedReply(**said, output=b"1")])
    (taken,) = await opened.transport.take(QUEUE, 10, 30)
    assert taken.message == Reply(**said, output=b"1")


async def test_the_host_wakes_a_take() -> None:
    opened = Opened()
    taking = asyncio.create_task(opened.taken_at())
    await settle()
    await opened.other.publish(QUEUE, [request()])
    opened.transport.wake()
    assert await taking == pytest.approx(0, abs=0.1)


async def test_a_hint_wakes_every_take_at_once() -> None:
    changed = False

    def hint() -> bool:
        nonlocal changed
        was, changed = changed, False
        return was

    opened = Opened(hint)
    taking = [asyncio.create_task(opened.taken_at()) for _ in range(2)]
    await asyncio.sleep(3)
    await opened.other.publish(QUEUE, [request("a")])
    await opened.other.publish("agents.other", [request("b")])
    changed = True
    done, waiting = await asyncio.wait(taking, return_when=asyncio.FIRST_COMPLETED)
    assert done.pop().result() == pytest.approx(3, abs=0.1)
    assert opened.store.takes <= 4
    waiting.pop().cancel()


async def test_a_hint_is_polled_only_while_a_call_waits() -> None:
    asked: list[float] = []

    def hint() -> bool:
        asked.append(1)
        return False

    opened = Opened(hint)
    await asyncio.sleep(5)
    assert asked == []
    taking = asyncio.create_task(opened.taken_at())
    await asyncio.sleep(1)
    assert len(asked) > 10
    await opened.transport.publish(QUEUE, [request()])
    await taking
    asked.clear()
    await asyncio.sleep(5)
    assert asked == []


async def test_a_hint_that_fails_is_asked_again() -> None:
    answers = [StoreUnavailable("busy"), StoreUnavailable("busy"), None]

    def hint() -> bool:
        answer = answers.pop(0)
        if answer is not None:
            raise answer
        return True

    opened = Opened(hint)
    taking = asyncio.create_task(opened.taken_at())
    await settle()
    await opened.other.publish(QUEUE, [request()])
    assert await taking == pytest.approx(0.06, abs=0.01)


async def test_its_own_publication_wakes_a_take() -> None:
    opened = Opened()
    taking = asyncio.create_task(opened.taken_at())
    await settle()
    await opened.transport.publish(QUEUE, [request()])
    assert await taking == pytest.approx(0, abs=0.1)


async def test_a_message_between_a_look_and_the_wait_is_not_missed() -> None:
    opened = Opened()
    look = opened.store.take

    async def slowly(queue: str, limit: int, lease: float) -> list[Row]:
        found = await look(queue, limit, lease)
        await asyncio.sleep(1)
        return found

    opened.store.take = slowly  # type: ignore[method-assign]
    taking = asyncio.create_task(opened.taken_at())
    await asyncio.sleep(0.5)
    await opened.transport.publish(QUEUE, [request()])
    assert await taking == pytest.approx(2, abs=0.1)


async def test_an_idle_take_asks_the_store_only_each_poll() -> None:
    opened = Opened(lambda: False)
    taking = asyncio.create_task(opened.taken_at())
    await asyncio.sleep(95)
    assert (opened.store.takes, opened.store.looks) == (1, 9)
    taking.cancel()


async def test_idle_takes_of_many_queues_ask_the_store_once_each_poll() -> None:
    opened = Opened(lambda: False)
    taking = [asyncio.create_task(opened.transport.take(f"agents.{number}", 9, 30)) for number in range(20)]
    await asyncio.sleep(95)
    assert (opened.store.takes, opened.store.looks) == (20, 9)
    await opened.other.publish("agents.7", [request()])
    await asyncio.sleep(10)
    assert [task.done() for task in taking] == [number == 7 for number in range(20)]
    assert (opened.store.takes, opened.store.looks) == (21, 10)
    for task in taking:
        task.cancel()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"null",
        b"[]",
        b"{}",
        b'{"type":"request"}',
        b'{"type":"reply","task":5}',
        b'{"type":"bomb"}',
        b'{"type":"request","complete_by":NaN}',
        b"[" * 100_000,
        b"9" * 10_000,
    ],
)
async def test_a_malformed_body_becomes_a_reported_dead_letter_and_blocks_nothing(body: bytes) -> None:
    opened = Opened()
    await opened.store.put(QUEUE, [(body, None)])
    await opened.transport.publish(QUEUE, [request("good")])
    (delivery,) = await opened.transport.take(QUEUE, 10, 30)
    assert delivery.message.task == "good"
    assert [row.token for row in opened.store.rows] == [delivery.token]
    ((dead, reason),) = opened.store.buried
    assert (dead, "expected a request or a reply, found" in reason) == (body, True)
    (event,) = opened.events
    assert (event.name, event.fields["queue"]) == ("transport.dead_letter", QUEUE)


async def test_after_malformed_bodies_alone_the_rest_is_looked_for_at_once() -> None:
    opened = Opened()
    await opened.store.put(QUEUE, [(b"bad", None), (b"worse", None)])
    await opened.transport.publish(QUEUE, [request("good")])
    await opened.transport.take(QUEUE, 1, 30)
    assert opened.loop.time() - START < 1


async def test_fields_of_newer_programs_are_passed_over() -> None:
    opened = Opened()
    await opened.transport.publish(QUEUE, [request("good")])
    opened.store.rows[0].body = opened.store.rows[0].body.replace(b"{", b'{"newer":1,', 1)
    assert (await opened.transport.take(QUEUE, 1, 30))[0].message == request("good")


@pytest.mark.parametrize(
    "verb",
    [
        lambda t: t.publish(QUEUE, [request()]),
        lambda t: t.take(QUEUE, 1, 30),
        lambda t: t.settle(QUEUE, []),
        lambda t: t.extend(QUEUE, [], 30),
        lambda t: t.adopt([QUEUE], "heir"),
    ],
)
async def test_a_store_that_is_down_is_a_transport_error(verb: Any) -> None:
    opened = Opened()
    opened.store.is_down = True
    with pytest.raises(TransportError, match=r"queue agents\.payments: .*found it down"):
        await verb(opened.transport)


async def test_a_revocation_by_another_process_shows_when_the_lease_is_extended() -> None:
    opened = Opened()
    await opened.transport.publish(QUEUE, [request("a"), request("b")])
    a, b = await opened.transport.take(QUEUE, 10, 30)
    assert await opened.transport.extend(QUEUE, [a, b], 30) == []
    await opened.other.revoke(QUEUE, "a", 1, "payments.charge/1")
    assert await opened.transport.extend(QUEUE, [a, b], 30) == [a]


async def test_a_taken_request_is_never_answered_as_never_begun() -> None:
    opened = Opened()
    await opened.transport.publish(QUEUE, [request("a")])
    await opened.transport.take(QUEUE, 10, 30)
    await opened.transport.publish(QUEUE, [request("a")])
    await opened.other.revoke(QUEUE, "a", 1, "payments.charge/1")
    assert opened.store.rows == []


async def test_a_revoked_request_that_was_not_taken_is_answered_by_the_queue() -> None:
    opened = Opened()
    await opened.transport.publish(QUEUE, [request("a"), request("b")])
    await opened.other.revoke(QUEUE, "a", 1, "payments.charge/1")
    assert [delivery.message for delivery in await opened.transport.take(QUEUE, 10, 30)] == [request("b")]
    (answer,) = await opened.other.take(request().reply_to, 10, 30)
    assert answer.message == request("a").never_began()
