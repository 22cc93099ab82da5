"""What every transport does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from stepward.errors import TransportError
from stepward.model.messages.requests import Outcome
from stepward.transport.contract import AgentMessage, Delivery, Transport
from tests.transport.conformance.pace import Pace
from tests.transport.messages import progress, reply, request

QUEUE = "agents.payments"


def tasks(deliveries: Sequence[Delivery]) -> list[str]:
    return [delivery.message.task for delivery in deliveries]


async def nothing_comes(transport: Transport, pace: Pace, queue: str = QUEUE, seconds: float | None = None) -> bool:
    try:
        async with asyncio.timeout(pace.short if seconds is None else seconds):
            await transport.take(queue, 10, pace.lease)
    except TimeoutError:
        return True
    return False


@pytest.mark.parametrize(
    "message",
    [
        request(),
        request(undo=True, undoes="uid-1/1/x/1", input=bytes(range(256)), priority=0, run=7, attempt=3),
        reply(),
        reply(outcome=Outcome.FAILED, output=None, error=b'{"message":"no"}', maybe_done=True, calls=4),
        reply(outcome=Outcome.GAVE_UP, output=None, calls=0),
        reply(outcome=Outcome.DEFERRED, output=None),
        request(attempt=2, progress=b'{"page":3}'),
        progress(b'{"page":3}'),
    ],
)
async def test_a_message_arrives_as_it_was_sent(transport: Transport, pace: Pace, message: AgentMessage) -> None:
    await transport.publish(QUEUE, [message])
    (delivery,) = await transport.take(QUEUE, 10, pace.lease)
    assert delivery.message == message


async def test_messages_come_in_order_up_to_the_limit(transport: Transport, pace: Pace) -> None:
    await transport.publish(QUEUE, [request("a"), request("b")])
    await transport.publish(QUEUE, [request("c")])
    assert tasks(await transport.take(QUEUE, 2, pace.lease)) == ["a", "b"]
    assert tasks(await transport.take(QUEUE, 2, pace.lease)) == ["c"]


async def test_publishing_nothing_is_nothing(transport: Transport, pace: Pace) -> None:
    await transport.publish(QUEUE, [])
    await transport.settle(QUEUE, [])
    await transport.extend(QUEUE, [], pace.lease)
    assert await nothing_comes(transport, pace)


async def test_queues_are_apart(transport: Transport, pace: Pace) -> None:
    await transport.publish("agents.a", [request("a")])
    await transport.publish("agents.b", [request("b")])
    assert tasks(await transport.take("agents.b", 10, pace.lease)) == ["b"]
    assert await nothing_comes(transport, pace, "agents.c")


async def test_take_waits_for_a_message(transport: Transport, pace: Pace) -> None:
    taking = asyncio.create_task(transport.take(QUEUE, 10, pace.lease))
    await pace.settle()
    assert not taking.done()
    await transport.publish(QUEUE, [request("a")])
    assert tasks(await taking) == ["a"]


async def test_each_message_reaches_one_waiting_call(transport: Transport, pace: Pace) -> None:
    taking = [asyncio.create_task(transport.take(QUEUE, 1, pace.lease)) for _ in range(3)]
    await pace.settle()
    await transport.publish(QUEUE, [request(task) for task in "abc"])
    assert sorted(tasks([found for take in taking for found in await take])) == ["a", "b", "c"]


async def test_a_cancelled_take_loses_nothing(transport: Transport, pace: Pace) -> None:
    taking = asyncio.create_task(transport.take(QUEUE, 10, pace.lease))
    await pace.settle()
    taking.cancel()
    await asyncio.wait([taking])
    await transport.publish(QUEUE, [request("a")])
    assert tasks(await transport.take(QUEUE, 10, pace.lease)) == ["a"]


async def test_a_settled_message_never_returns(transport: Transport, pace: Pace) -> None:
    await transport.publish(QUEUE, [request("a"), request("b")])
    first, _ = await transport.take(QUEUE, 10, pace.lease)
    await transport.settle(QUEUE, [first])
    await transport.settle(QUEUE, [first])
    await asyncio.sleep(pace.lease + pace.short)
    assert tasks(await transport.take(QUEUE, 10, pace.lease)) == ["b"]


async def test_an_unsettled_message_returns_after_its_lease(transport: Transport, pace: Pace) -> None:
    await transport.publish(QUEUE, [request("a")])
    await transport.take(QUEUE, 10, pace.lease)
    assert await nothing_comes(transport, pace, seconds=pace.almost)
    async with asyncio.timeout(pace.lease + 3):
        assert tasks(await transport.take(QUEUE, 10, pace.lease)) == ["a"]


async def test_settling_one_settles_none_that_came_before_it(transport: Transport, pace: Pace) -> None:
    taken: list[Delivery] = []
    for task in "ab":
        await transport.publish(QUEUE, [request(task)])
        taken += await transport.take(QUEUE, 1, pace.lease)
    await transport.settle(QUEUE, taken[1:])
    async with asyncio.timeout(pace.lease * 10):
        assert tasks(await transport.take(QUEUE, 10, pace.lease)) == ["a"]


async def test_a_consumer_with_messages_gets_more_as_soon_as_it_has_room(transport: Transport, pace: Pace) -> None:
    for task in "abcd":
        await transport.publish(QUEUE, [request(task)])
    async with asyncio.timeout(pace.lease * 2):
        taken = [tasks(await transport.take(QUEUE, 1, pace.lease * 20)) for _ in "abcd"]
    # A broker may deliver what a consumer had no room for behind what came later.
    assert sorted(taken) == [["a"], ["b"], ["c"], ["d"]]


async def test_a_delivery_carries_the_end_of_its_lease(transport: Transport, pace: Pace) -> None:
    await transport.publish(QUEUE, [request("a")])
    (delivery,) = await transport.take(QUEUE, 10, pace.lease)
    assert pace.is_leased(delivery)


async def test_a_delivery_that_was_long_waited_for_is_leased_from_when_it_came(
    transport: Transport, pace: Pace
) -> None:
    taking = asyncio.create_task(transport.take(QUEUE, 10, pace.lease))
    await asyncio.sleep(2 * pace.lease)
    await transport.publish(QUEUE, [request("a", complete_by=pace.now() + 1000)])
    (delivery,) = await taking
    assert pace.is_leased(delivery)


async def test_an_extended_lease_lasts_longer(transport: Transport, pace: Pace) -> None:
    await transport.publish(QUEUE, [request("a")])
    taken = await transport.take(QUEUE, 10, pace.lease)
    await asyncio.sleep(pace.almost)
    await transport.extend(QUEUE, taken, pace.lease)
    assert await nothing_comes(transport, pace, seconds=pace.almost)
    async with asyncio.timeout(pace.lease + 3):
        assert tasks(await transport.take(QUEUE, 10, pace.lease)) == ["a"]


async def test_extending_what_is_settled_brings_nothing_back(transport: Transport, pace: Pace) -> None:
    await transport.publish(QUEUE, [request("a")])
    taken = await transport.take(QUEUE, 10, pace.lease)
    await transport.settle(QUEUE, taken)
    await transport.extend(QUEUE, taken, pace.lease)
    assert await nothing_comes(transport, pace, seconds=pace.lease * 2)


async def test_an_expired_request_is_not_delivered(transport: Transport, pace: Pace) -> None:
    # A connection takes its time on a busy machine: it is made before the clock is read.
    await transport.publish(QUEUE, [request("first")])
    await transport.settle(QUEUE, await transport.take(QUEUE, 10, pace.lease))
    early, late = pace.short, 8 * pace.short
    now = pace.now()
    await transport.publish(QUEUE, [request("a", complete_by=now + early), request("b", complete_by=now + late)])
    await asyncio.sleep(early * 1.5)
    assert tasks(await transport.take(QUEUE, 10, late)) == ["b"]
    assert await nothing_comes(transport, pace, seconds=late * 1.3)


async def test_replies_do_not_expire(transport: Transport, pace: Pace) -> None:
    await transport.publish("replies.s", [reply("a")])
    await asyncio.sleep(pace.ages)
    assert tasks(await transport.take("replies.s", 10, pace.lease)) == ["a"]


async def test_an_heir_takes_what_stands_in_a_queue_taken_or_not(transport: Transport, pace: Pace) -> None:
    await transport.publish("replies.dead", [reply("a"), reply("b")])
    await transport.take("replies.dead", 1, 1000)
    taking = asyncio.create_task(transport.take("replies.heir", 10, pace.lease))
    await pace.settle()
    await transport.adopt(["replies.dead"], "replies.heir")
    # The dead process may have put back what it had no room for, without the acknowledgement of the other copy.
    assert {*tasks(await taking)} == {"a", "b"}
    assert await nothing_comes(transport, pace, "replies.dead")


async def test_a_call_that_waits_at_an_adopted_queue_is_still_served(transport: Transport, pace: Pace) -> None:
    taking = asyncio.create_task(transport.take("replies.dead", 10, pace.lease))
    await pace.settle()
    await transport.adopt(["replies.dead"], "replies.heir")
    await pace.settle()
    await transport.publish("replies.dead", [reply("a")])
    assert tasks(await taking) == ["a"]


async def test_adopting_nothing_is_nothing(transport: Transport, pace: Pace) -> None:
    await transport.adopt(["replies.unknown"], "replies.heir")
    assert await nothing_comes(transport, pace, "replies.heir")


async def test_a_revocation_reaches_its_listeners(transport: Transport, pace: Pace) -> None:
    heard: list[tuple[str, int, str]] = []
    stop = transport.on_revoke(QUEUE, lambda *step: heard.append(step))
    await transport.revoke(QUEUE, "uid-1", 2, "payments.charge/1")
    await transport.revoke("agents.other", "uid-1", 2, "payments.charge/1")
    assert heard == [("uid-1", 2, "payments.charge/1")]
    stop()
    await transport.revoke(QUEUE, "uid-1", 2, "payments.charge/1")
    assert len(heard) == 1


async def test_a_revoked_untaken_request_is_answered_and_not_given_out(transport: Transport, pace: Pace) -> None:
    others = [request("uid-2"), request(run=2), request(key="payments.charge/11")]
    await transport.publish(QUEUE, [request(), *others])
    await transport.revoke(QUEUE, "uid-1", 1, "payments.charge/1", 1)
    found: list[AgentMessage] = []
    while len(found) < len(others):
        found += [delivery.message for delivery in await transport.take(QUEUE, 10, pace.lease * 20)]
    assert found == others
    (answer,) = await transport.take(request().reply_to, 10, pace.lease)
    assert answer.message == request().never_began()


async def test_a_later_attempt_than_the_revoked_one_is_given_out(transport: Transport, pace: Pace) -> None:
    await transport.revoke(QUEUE, "uid-1", 1, "payments.charge/1", 1)
    await transport.publish(QUEUE, [request(attempt=2)])
    async with asyncio.timeout(pace.lease * 10):
        assert [each.message for each in await transport.take(QUEUE, 10, pace.lease)] == [request(attempt=2)]


async def test_extending_returns_no_token_that_is_still_held(transport: Transport, pace: Pace) -> None:
    await transport.publish(QUEUE, [request("a"), request("b")])
    taken: list[Delivery] = []
    while len(taken) < 2:
        taken += await transport.take(QUEUE, 10, pace.lease)
    assert not await transport.extend(QUEUE, taken, pace.lease)


async def test_a_closed_transport_refuses_and_ends_waiting_takes(transport: Transport, pace: Pace) -> None:
    taking = asyncio.create_task(transport.take(QUEUE, 10, pace.lease))
    await pace.settle()
    await transport.close()
    with pytest.raises(TransportError, match="found it closed"):
        await taking
    with pytest.raises(TransportError, match="found it closed"):
        await transport.publish(QUEUE, [request()])
