"""How messages share broker messages, and what becomes of those that cannot be used."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import pytest
from nats.js import JetStreamContext

from stepward.errors import TransportError
from stepward.events import Event
from stepward.model.messages.requests import Outcome, Reply
from stepward.transport.broker.dead_letters import BrokerDeadLetter
from stepward.transport.contract import Delivery
from tests.transport.brokers import Buried, Heard, brokered, opened
from tests.transport.messages import reply, request

pytestmark = pytest.mark.servers

QUEUE = "agents.payments"
LEASE = 1.0


def tasks(deliveries: Sequence[Delivery]) -> list[str]:
    return [delivery.message.task for delivery in deliveries]


async def left(stream: JetStreamContext, app: str) -> int:
    info = await stream.stream_info(f"STEPWARD_{app}")
    return info.state.messages


async def becomes(expected: int, stream: JetStreamContext, app: str) -> None:
    # The client swallows a cancellation now and then, so that a timeout would not do.
    end = asyncio.get_running_loop().time() + 5
    while (found := await left(stream, app)) != expected:
        assert asyncio.get_running_loop().time() < end, found


async def test_messages_published_together_share_broker_messages(
    address: str, app: str, stream: JetStreamContext
) -> None:
    async with brokered(address, app=app) as transport:
        await transport.publish(QUEUE, [request(str(number)) for number in range(200)])
        assert await left(stream, app) == 4
        taken = await transport.take(QUEUE, 200, LEASE)
        taken += await transport.take(QUEUE, 200, LEASE) if len(taken) < 200 else []
        assert tasks(taken)[:64] == [str(number) for number in range(64)]


async def test_large_messages_do_not_share(address: str, app: str, stream: JetStreamContext) -> None:
    large = b'["' + b"x" * 200_000 + b'"]'
    async with brokered(address, app=app) as transport:
        await transport.publish(QUEUE, [request("a", input=large), request("b", input=large)])
        assert await left(stream, app) == 2


async def test_a_broker_message_goes_when_the_last_of_it_is_settled(
    address: str, app: str, stream: JetStreamContext
) -> None:
    async with brokered(address, app=app) as transport:
        await transport.publish(QUEUE, [request("a"), request("b")])
        first, second = await transport.take(QUEUE, 2, 30)
        await transport.settle(QUEUE, [first])
        assert await left(stream, app) == 1
        await transport.settle(QUEUE, [second])
        await becomes(0, stream, app)


async def test_messages_beyond_the_room_go_to_another_process(address: str, app: str) -> None:
    async with brokered(address, app=app) as one, brokered(address, app=app) as other:
        await one.publish(QUEUE, [request("a"), request("b")])
        assert tasks(await one.take(QUEUE, 1, 30)) == ["a"]
        async with asyncio.timeout(5):
            assert tasks(await other.take(QUEUE, 1, 30)) == ["b"]


async def test_untaken_messages_go_to_another_process_at_the_close(address: str, app: str) -> None:
    async with brokered(address, app=app) as other:
        one = await opened(address, app=app)
        taking = asyncio.create_task(one.take(QUEUE, 1, 30))
        await asyncio.sleep(0.2)
        taking.cancel()
        await asyncio.wait([taking])
        await other.publish(QUEUE, [request("a")])
        await one.close()
        async with asyncio.timeout(5):
            assert tasks(await other.take(QUEUE, 1, 30)) == ["a"]


async def test_messages_of_a_dead_consumer_are_redelivered_one_by_one(
    address: str, app: str, stream: JetStreamContext
) -> None:
    async with brokered(address, app=app) as one, brokered(address, app=app) as other:
        await one.publish(QUEUE, [request("a"), request("b")])
        assert tasks(await one.take(QUEUE, 2, LEASE)) == ["a", "b"]
        async with asyncio.timeout(LEASE * 10):
            taken = await other.take(QUEUE, 2, LEASE)
            while len(taken) < 2:
                taken += await other.take(QUEUE, 2, LEASE)
        assert tasks(taken) == ["a", "b"]
        # The one that held both goes, and each has one of its own.
        await becomes(2, stream, app)
        assert (await stream.stream_info(f"STEPWARD_{app}")).state.first_seq == 2


async def test_a_paused_taker_does_not_hold_what_it_took(address: str, app: str) -> None:
    """The lease is the broker's: nothing of the taker's need run for it to end."""
    async with brokered(address, app=app) as one, brokered(address, app=app) as other:
        await one.publish(QUEUE, [request("a")])
        (delivery,) = await one.take(QUEUE, 1, LEASE)
        async with asyncio.timeout(LEASE * 4):
            (again,) = await other.take(QUEUE, 1, LEASE)
        assert delivery.leased_until <= asyncio.get_running_loop().time()
        await other.settle(QUEUE, [again])


async def test_expired_requests_leave_the_broker_by_themselves(
    address: str, app: str, stream: JetStreamContext
) -> None:
    async with brokered(address, app=app) as transport:
        soon = asyncio.get_running_loop().time() + 0.1
        await transport.publish(QUEUE, [request("a", complete_by=soon)])
        assert await left(stream, app) == 1
        await becomes(0, stream, app)


async def test_requests_past_their_complete_by_are_reported(address: str, app: str, stream: JetStreamContext) -> None:
    events: list[Event] = []
    async with brokered(address, app=app, events=events) as transport:
        soon = asyncio.get_running_loop().time() + 0.05
        await transport.publish(QUEUE, [request("a", complete_by=soon), request("b")])
        await asyncio.sleep(0.1)
        assert tasks(await transport.take(QUEUE, 9, LEASE)) == ["b"]
    assert [event.fields["requests"] for event in events if event.name == "transport.expired"] == [1]


async def test_unusable_messages_become_dead_letters_and_their_neighbours_arrive(
    address: str, app: str, stream: JetStreamContext
) -> None:
    events: list[Event] = []
    buried = Buried()
    async with brokered(address, app=app, events=events, buried=buried) as transport:
        await transport.publish("replies.s", [reply("a")])
        (message,) = [await stream.get_msg(f"STEPWARD_{app}", 1)]
        assert message.data is not None
        foreign = message.data[:-1] + b',{"type":"bomb"}]'
        await stream.publish(f"stepward.{app}.queue.replies.s", foreign)
        await stream.publish(f"stepward.{app}.queue.replies.s", b"\xff")
        taken = await transport.take("replies.s", 9, LEASE)
        while len(taken) < 2:
            taken += await transport.take("replies.s", 9, LEASE)
        assert tasks(taken) == ["a", "a"]
        await transport.settle("replies.s", taken)
        await becomes(0, stream, app)
    assert [(queue, letter.body) for queue, letter in buried.letters] == [
        ("replies.s", b'{"type":"bomb"}'),
        ("replies.s", b"\xff"),
    ]
    assert len([event for event in events if event.name == "transport.dead_letter"]) == 2


class Refusing(Buried):
    """A grave that takes nothing the first time."""

    async def bury(self, queue: str, letters: Sequence[BrokerDeadLetter]) -> None:
        if not self.is_down:
            self.is_down = True
            raise TransportError("expected a store, found none")
        await super().bury(queue, letters)


async def test_a_message_that_could_not_become_a_dead_letter_comes_again(
    address: str, app: str, stream: JetStreamContext
) -> None:
    buried = Refusing()
    async with brokered(address, app=app, buried=buried) as transport:
        taking = asyncio.create_task(transport.take(QUEUE, 1, LEASE))
        await stream.publish(f"stepward.{app}.queue.{QUEUE}", b"?")
        await becomes(0, stream, app)
        assert [letter.body for _, letter in buried.letters] == [b"?"]
        taking.cancel()


async def test_a_request_that_is_too_large_fails_its_step(address: str, app: str) -> None:
    huge = b'["' + b"x" * 1024 * 1024 + b'"]'
    async with brokered(address, app=app) as transport:
        await transport.publish(QUEUE, [request("a"), request("b", input=huge, reply_to="replies.s")])
        assert tasks(await transport.take(QUEUE, 9, LEASE)) == ["a"]
        (delivery,) = await transport.take("replies.s", 9, LEASE)
    refused = delivery.message
    assert isinstance(refused, Reply)
    assert (refused.task, refused.outcome, refused.maybe_done) == ("b", Outcome.FAILED, False)
    error = msgspec.json.decode(refused.error or b"")
    assert error["type"] == "PayloadTooLarge"
    assert "over NATS" in error["message"]


async def test_a_reply_that_is_too_large_fails_its_step_which_was_done(address: str, app: str) -> None:
    huge = b'"' + b"x" * 1024 * 1024 + b'"'
    async with brokered(address, app=app) as transport:
        await transport.publish("replies.s", [reply("a", output=huge)])
        (delivery,) = await transport.take("replies.s", 9, LEASE)
    refused = delivery.message
    assert isinstance(refused, Reply)
    assert (refused.task, refused.outcome, refused.maybe_done) == ("a", Outcome.FAILED, True)


async def test_every_process_receives_a_revocation_once(address: str, app: str) -> None:
    heard: list[tuple[str, str, int, str]] = []
    both = asyncio.Event()

    def hear(who: str, *step: Any) -> None:
        heard.append((who, *step))
        if len(heard) == 2:
            both.set()

    async with brokered(address, app=app) as one, brokered(address, app=app) as other:
        one.on_revoke(QUEUE, partial(hear, "one"))
        other.on_revoke(QUEUE, partial(hear, "other"))
        await one.revoke(QUEUE, "uid-1", 1, "payments.charge/1")
        async with asyncio.timeout(5):
            await both.wait()
        # A later broadcast arrives after it.
        await other.revoke("agents.other", "uid-1", 1, "x")
        await one.publish("replies.s", [reply()])
        await one.take("replies.s", 1, LEASE)
    assert sorted(heard) == [(who, "uid-1", 1, "payments.charge/1") for who in ("one", "other")]


async def test_a_request_revoked_elsewhere_is_answered_by_its_consumer(address: str, app: str) -> None:
    heard = asyncio.Event()
    async with brokered(address, app=app) as one, brokered(address, app=app) as other:
        other.on_revoke(QUEUE, lambda *_: heard.set())
        await one.publish(QUEUE, [request("a"), request("b")])
        await one.revoke(QUEUE, "a", 1, request().key, 1)
        async with asyncio.timeout(5):
            await heard.wait()
        assert tasks(await other.take(QUEUE, 9, LEASE)) == ["b"]
        (answer,) = await one.take(request().reply_to, 9, LEASE)
        assert answer.message == request("a").never_began()


async def test_a_request_that_may_have_begun_is_not_answered_as_never_begun(address: str, app: str) -> None:
    """It came back, alone or with others, from one that may only stand still; its complete-by ends it."""
    events = Heard()
    async with brokered(address, app=app) as one, brokered(address, app=app, events=events) as other:
        await one.publish(QUEUE, [request("a"), request("b")])
        await one.take(QUEUE, 2, LEASE)
        await other.revoke(QUEUE, "a", 1, request().key, 1)
        async with asyncio.timeout(LEASE * 10):
            assert tasks(await other.take(QUEUE, 2, LEASE)) == ["b"]
        told = await events.of("transport.revoked_in_doubt")
        assert (told.fields["task"], told.fields["step"]) == (request("a").task_id, request("a").key)
        waiting = asyncio.ensure_future(one.take(request().reply_to, 9, LEASE))
        await asyncio.wait({waiting}, timeout=LEASE)
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait({waiting})


@pytest.mark.parametrize("limit", [1, 7])
async def test_no_more_is_taken_than_there_is_room_for(address: str, app: str, limit: int) -> None:
    async with brokered(address, app=app) as transport:
        for number in range(10):
            await transport.publish(QUEUE, [request(str(number))])
        taken = await transport.take(QUEUE, limit, 30)
        while len(taken) < limit:
            taken += await transport.take(QUEUE, limit - len(taken), 30)
        assert len(taken) == limit
