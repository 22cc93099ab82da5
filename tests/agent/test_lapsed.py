"""An Agent that stood still past its lease on a request: another has it by then, so nothing is said of it here."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

from stepward.agent.declaration import Agent
from stepward.errors import LeaseLapsed, TransportError
from stepward.model.current_step import current_step
from stepward.model.messages.requests import Outcome
from stepward.policies import Retry
from stepward.transport.contract import Delivery
from stepward.transport.memory.memory_transport import MemoryTransport
from tests.agent.conftest import Start
from tests.agent.world import REPLIES
from tests.virtual import START, VirtualLoop

HOURS = 4 * 3600.0


def stand_still(seconds: float) -> None:
    """The process is stopped, and goes on later in the middle of its code."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.now += seconds


async def test_what_comes_of_a_call_after_its_lease_is_thrown_away(start: Start) -> None:
    agent = Agent("payments")
    calls: list[str] = []

    @agent.operation(complete_by="4h")
    async def charge() -> int:
        calls.append(current_step().idempotency_key)
        if len(calls) == 1:
            stand_still(5)
        return len(calls)

    world = start(agent, request_lease=3)
    reply = await world.call("payments.charge", complete_by=START + HOURS)
    assert reply.output == b"2"
    assert calls == ["uid-1/1/payments.charge/1"] * 2
    assert await world.is_silent(60)
    assert [told["deadline"] for told in world.told("agent.overran")] == ["lease"]


async def test_a_call_does_not_begin_after_its_lease(start: Start) -> None:
    agent = Agent("payments")
    calls: list[float] = []
    stops = [5.0]

    def failpoint(name: str) -> None:
        if name == "agent.call.before" and stops:
            stand_still(stops.pop())

    @agent.operation(complete_by="4h")
    async def charge() -> None:
        calls.append(asyncio.get_running_loop().time() - START)

    world = start(agent, request_lease=3, failpoint=failpoint)
    await world.call("payments.charge", complete_by=START + HOURS)
    assert len(calls) == 1
    assert calls[0] >= 5


async def test_code_that_wakes_up_late_is_stopped_by_its_heartbeat_before_it_acts(start: Start) -> None:
    agent = Agent("payments", retry=Retry(attempts=3, initial=0))
    acted: list[int] = []
    refused: list[LeaseLapsed] = []

    @agent.operation(complete_by="4h")
    async def charge() -> int:
        if not refused:
            stand_still(5)
        try:
            current_step().heartbeat()
        except LeaseLapsed as error:
            refused.append(error)
            raise
        acted.append(1)
        return len(acted)

    world = start(agent, request_lease=3)
    reply = await world.call("payments.charge", complete_by=START + HOURS)
    assert (reply.output, acted, len(refused)) == (b"1", [1], 1)
    assert str(refused[0]).startswith("payments.charge for task order-1: expected the lease on its request")
    assert await world.is_silent(60)


async def test_a_thread_whose_call_was_dropped_is_stopped_by_its_heartbeat(start: Start) -> None:
    agent = Agent("payments")
    gate, over = threading.Event(), threading.Event()
    refused: list[str] = []

    @agent.operation()
    def charge() -> None:
        gate.wait(10)
        try:
            current_step().heartbeat()
        except LeaseLapsed as error:
            refused.append(str(error))
        over.set()

    world = start(agent)
    await world.ask("payments.charge", complete_by=START + 2)
    assert await world.is_silent(5)
    gate.set()
    assert over.wait(10)
    assert len(refused) == 1


async def test_another_instance_has_the_request_within_a_lease(start: Start) -> None:
    agent, other = Agent("payments"), Agent("payments")
    began: list[Any] = []

    @agent.operation(complete_by="4h")
    async def charge() -> str:
        began.append("dies")
        await asyncio.sleep(HOURS)
        return "never"

    @other.operation(name="charge", complete_by="4h")
    async def charge_too() -> str:
        began.append(asyncio.get_running_loop().time() - START)
        return current_step().idempotency_key

    world = start(agent, request_lease=3)
    await world.ask("payments.charge", complete_by=START + HOURS)
    await asyncio.sleep(10)
    assert began == ["dies"]
    # Killed: nothing of it runs or renews any more.
    world.running.cancel()
    world.runner._calls._leases.close()
    died_at = asyncio.get_running_loop().time() - START
    heir = start(other, request_lease=3, transport=world.transport)
    (reply,) = await heir.replies(queue=REPLIES)
    assert reply.output == b'"uid-1/1/payments.charge/1"'
    assert reply.attempt == 1
    assert began[1] - died_at <= 3.1


class SlowAnswers(MemoryTransport):
    """Extends at once, and answers ``seconds`` later; after the first time nothing is extended."""

    def __init__(self, now: Callable[[], float], seconds: float) -> None:
        super().__init__(now)
        self._seconds = seconds
        self.extended = 0

    async def extend(self, queue: str, deliveries: Sequence[Delivery], lease: float) -> Sequence[Delivery]:
        if self.extended:
            raise TransportError("expected it open, found it shut")
        self.extended += 1
        gone = await super().extend(queue, deliveries, lease)
        await asyncio.sleep(self._seconds)
        return gone


async def test_a_lease_counts_from_before_its_extension_was_asked_for(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation(complete_by="4h")
    async def charge() -> None:
        await asyncio.sleep(HOURS)

    transport = SlowAnswers(asyncio.get_running_loop().time, 2.0)
    world = start(agent, request_lease=9, transport=transport)
    await world.ask("payments.charge", complete_by=START + HOURS)
    # Extended at 3 s until 12 s, and answered at 5 s.
    await asyncio.sleep(11.9)
    assert world.told("agent.overran") == []
    await asyncio.sleep(0.2)
    assert [told["deadline"] for told in world.told("agent.overran")] == ["lease"]


class Withdrawn(MemoryTransport):
    """Says of each request that is to be extended that it is there no more."""

    async def extend(self, queue: str, deliveries: Sequence[Delivery], lease: float) -> Sequence[Delivery]:
        return deliveries


async def test_a_request_that_was_withdrawn_is_stopped_when_its_lease_is_extended(start: Start) -> None:
    agent = Agent("payments")
    stopped: list[float] = []

    @agent.operation(complete_by="4h")
    async def charge() -> None:
        try:
            await asyncio.sleep(HOURS)
        finally:
            stopped.append(asyncio.get_running_loop().time() - START)

    world = start(agent, request_lease=9, transport=Withdrawn(asyncio.get_running_loop().time))
    reply = await world.call("payments.charge", complete_by=START + HOURS)
    assert (reply.outcome, reply.maybe_done) == (Outcome.GAVE_UP, True)
    assert [round(at) for at in stopped] == [3]
