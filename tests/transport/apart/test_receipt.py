"""What belongs to another store, or proves nothing, is refused where it is received."""

from __future__ import annotations

import asyncio

import pytest

from stepward.model.messages.requests import request_queue
from stepward.model.messages.signing import Signer, StoreIdentity
from stepward.transport.wire.encoding import Wire, join
from tests.transport.brokers import Heard, brokered, new_app
from tests.transport.messages import SIGNER, reply, request
from tests.transport.wire.doors import Door

pytestmark = pytest.mark.servers

OTHER = Signer(StoreIdentity("0f1e2d3c4b5a69788796", bytes(32)))
PAYMENTS = request_queue("payments")
REPLIES = "replies.scheduler-1"


async def test_a_request_of_another_store_reaches_no_agent(door: Door) -> None:
    app, events = new_app(), Heard()
    async with brokered(door.address, app=app, events=events) as ours:
        await ours.publish(PAYMENTS, [request("ours", proof=None)])
        await door.put(app, PAYMENTS, join([Wire(app, OTHER).encode(request("staging", proof=None), 0.0)]))
        (delivery,) = await ours.take(PAYMENTS, 1, 5.0)
        assert delivery.message == request("ours")
        taking = asyncio.create_task(ours.take(PAYMENTS, 1, 5.0))
        rejected = (await events.of("transport.rejected")).fields
        assert (rejected["queue"], rejected["reason"], rejected["count"]) == (PAYMENTS, "foreign_store", 1)
        assert SIGNER.store in rejected["error"]
        assert OTHER.store in rejected["error"]
        await ours.settle(PAYMENTS, [delivery])
        taking.cancel()
        await asyncio.wait([taking])


async def test_an_answer_carries_the_proof_of_its_request(address: str) -> None:
    app, events = new_app(), Heard()
    async with brokered(address, app=app, events=events) as scheduler, brokered(address, app=app) as agent:
        await scheduler.publish(PAYMENTS, [request(proof=None)])
        (asked,) = await agent.take(PAYMENTS, 1, 5.0)
        assert asked.message == request()
        answer = request().completed(b'"charged"')
        await agent.publish(REPLIES, [answer])
        (answered,) = await scheduler.take(REPLIES, 1, 5.0)
        assert answered.message == answer
        assert events == []


async def test_replies_without_the_proof_of_their_request_reach_no_scheduler(address: str) -> None:
    app, events = new_app(), Heard()
    forged = [reply(proof="0" * 32), reply(agent="mail", proof=reply().proof), reply(attempt=2, proof=reply().proof)]
    async with brokered(address, app=app) as agent, brokered(address, app=app, events=events) as scheduler:
        for each in forged:
            await agent.publish(REPLIES, [each])
        await agent.publish(REPLIES, [reply(output=b'"genuine"')])
        (delivery,) = await scheduler.take(REPLIES, 10, 5.0)
        assert delivery.message == reply(output=b'"genuine"')
        rejected = (await events.of("transport.rejected")).fields
        assert (rejected["reason"], rejected["count"]) == ("unproven_message", 1)


async def test_a_returned_request_keeps_its_proof(address: str) -> None:
    app = new_app()
    async with brokered(address, app=app) as scheduler:
        await scheduler.publish(PAYMENTS, [request(task, proof=None) for task in "ab"])
        async with brokered(address, app=app) as agent:
            # It has room for one: the other is given back before long.
            (first,) = await agent.take(PAYMENTS, 1, 5.0)
            (second,) = await scheduler.take(PAYMENTS, 2, 5.0)
            assert [first.message, second.message] == [request("a"), request("b")]
            await agent.settle(PAYMENTS, [first])
            await scheduler.settle(PAYMENTS, [second])
