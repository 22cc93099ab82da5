"""Several instances of one Agent: one breaker, one probe, one rate, and requests that are given back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import pytest

from stepward.agent.declaration import Agent
from stepward.agent.protection.circuit_breaker import BreakerState
from stepward.errors import TransportError
from stepward.model.agents import AgentStanding
from stepward.model.limits.rate import RateLimit
from stepward.model.messages.requests import Outcome, Request, request_queue
from stepward.policies import CircuitBreaker, Retry
from stepward.transport.contract import AgentMessage, Delivery
from stepward.transport.memory.memory_transport import MemoryTransport
from tests.agent.conftest import Start
from tests.agent.world import World
from tests.virtual import START, settle

QUEUE = request_queue("payments")
OPENED = AgentStanding(name="payments", opened_at=START, asks_at=START + 10)
CLOSED = AgentStanding(name="payments")


class Board:
    """The state that all instances of these tests share, and the instance that may probe."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.probes = 1

    def opened(self, agent: str, seconds: float) -> None:
        self.told.append(f"{agent} open for {seconds:g}")

    def closed(self, agent: str) -> None:
        self.told.append(f"{agent} closed")

    async def may_probe(self, agent: str, seconds: float) -> bool:
        await asyncio.sleep(0)
        self.probes -= 1
        return self.probes >= 0


class Down:
    """A service behind one Agent, down until it is set up; a declaration for each instance."""

    def __init__(self) -> None:
        self.is_down = True
        self.called_at: list[float] = []

    def agent(self, rate: str | None = None, concurrency: int = 64) -> Agent:
        breaker = CircuitBreaker(1, reset_after=10)
        agent = Agent("payments", retry=Retry(1), breaker=breaker, rate=rate, concurrency=concurrency)

        @agent.operation(complete_by="10m")
        async def charge() -> str:
            self.called_at.append(asyncio.get_running_loop().time() - START)
            if self.is_down:
                raise ValueError("down")
            return "done"

        return agent


def heed(world: World, standing: AgentStanding, instances: int = 1, *, is_ours: bool = False) -> None:
    world.runner.heed(standing, is_ours=is_ours, instances=instances)


def later(seconds: float = 500) -> dict[str, float]:
    return {"complete_by": START + seconds}


async def test_what_one_instance_finds_out_holds_for_all(start: Start) -> None:
    down, board = Down(), Board()
    world = start(down.agent(), standing=board)
    await world.call("payments.charge", **later())
    assert board.told == ["payments open for 10"]
    down.is_down = False
    await world.call("payments.charge", task="uid-2", **later())
    assert board.told == ["payments open for 10", "payments closed"]
    assert world.breaker() == BreakerState.CLOSED


async def test_a_breaker_that_another_instance_opened_lets_nothing_new_pass(start: Start) -> None:
    down = Down()
    down.is_down = False
    world = start(down.agent(), standing=Board())
    await settle()
    heed(world, OPENED)
    await world.ask("payments.charge", **later())
    await asyncio.sleep(9)
    assert (down.called_at, world.runner.in_flight) == ([], 0)
    heed(world, CLOSED)
    assert (await world.replies())[0].outcome is Outcome.COMPLETED
    assert down.called_at == pytest.approx([9], abs=0.01)


async def test_of_several_instances_one_alone_finds_out(start: Start) -> None:
    down, board = Down(), Board()
    one = start(down.agent(), standing=board)
    other = start(down.agent(), standing=board, transport=one.transport)
    await settle()
    for world in (one, other):
        heed(world, OPENED)
    for number in range(4):
        await one.ask("payments.charge", task=f"uid-{number}", **later())
    await asyncio.sleep(10.5)
    # The probe has failed; who was not allowed to probe has called nothing.
    assert down.called_at == pytest.approx([10], abs=0.01)
    assert board.told == ["payments open for 10"]


async def test_an_instance_that_may_not_probe_asks_again_and_passes_once_the_service_is_back(start: Start) -> None:
    down, board = Down(), Board()
    board.probes, down.is_down = 0, False
    world = start(down.agent(), standing=board)
    await settle()
    heed(world, OPENED)
    await world.ask("payments.charge", **later())
    await asyncio.sleep(15)
    assert down.called_at == []
    heed(world, CLOSED)
    assert (await world.replies())[0].outcome is Outcome.COMPLETED
    assert down.called_at == pytest.approx([15], abs=0.01)


async def test_news_from_before_do_not_end_the_probe_of_this_instance(start: Start) -> None:
    down, board = Down(), Board()
    world = start(down.agent(), standing=board)
    await world.call("payments.charge", **later())
    await asyncio.sleep(10)
    gate = world.runner._calls.gate
    gate._breaker.probe(world.now())
    heed(world, OPENED, is_ours=True)
    assert world.breaker() == BreakerState.HALF_OPEN
    heed(world, OPENED)
    assert world.breaker() == BreakerState.OPEN


async def test_requests_that_have_not_begun_are_given_back_when_the_breaker_opens(start: Start) -> None:
    """They wait for the rate; nothing has happened for them, so others may have them."""
    down = Down()
    down.is_down = False
    world = start(down.agent(rate="1/m"), standing=Board())
    for number in range(4):
        await world.ask("payments.charge", task=f"uid-{number}", **later())
    await settle()
    assert (len(down.called_at), world.runner.in_flight) == (1, 1)
    heed(world, OPENED)
    await settle()
    assert world.runner.in_flight == 0
    back = await world.transport.take(QUEUE, 9, 600)
    assert {delivery.message.task for delivery in back} == {"uid-1", "uid-2", "uid-3"}
    # What was taken first is settled: nothing comes twice.
    assert await world.is_silent(100, QUEUE)


async def test_what_comes_while_the_breaker_is_open_is_given_back(start: Start) -> None:
    """The Agent waits for requests already when it opens."""
    down = Down()
    world = start(down.agent(), standing=Board())
    await settle()
    heed(world, OPENED)
    await world.ask("payments.charge", **later())
    await settle()
    assert world.runner.in_flight == 0
    (back,) = await world.transport.take(QUEUE, 9, 600)
    assert isinstance(back.message, Request)


async def test_where_giving_back_fails_the_lease_gives_it_back(start: Start) -> None:
    class NoPublish(MemoryTransport):
        refuses = False

        async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
            if self.refuses:
                raise TransportError("down")
            await super().publish(queue, messages)

    down, transport = Down(), NoPublish(asyncio.get_running_loop().time)
    world = start(down.agent(), standing=Board(), transport=transport, request_lease=5)
    await settle()
    heed(world, OPENED)
    await world.ask("payments.charge", **later())
    transport.refuses = True
    await settle()
    found: list[Delivery] = await transport.take(QUEUE, 9, 600)
    assert len(found) == 1
    assert world.now() - START == pytest.approx(5, abs=0.1)
    assert [told["verb"] for told in world.told("agent.transport_failed")] == ["give back"]


async def test_one_request_waits_for_the_rate_the_others_stay_in_the_queue(start: Start) -> None:
    down = Down()
    down.is_down = False
    world = start(down.agent(rate="2/m"), standing=Board())
    for number in range(9):
        await world.ask("payments.charge", task=f"uid-{number}", **later())
    await settle()
    assert (len(down.called_at), world.runner.in_flight) == (2, 1)
    assert len(await world.transport.take(QUEUE, 9, 600)) == 6


async def test_instances_share_one_rate(start: Start) -> None:
    down = Down()
    down.is_down = False
    one = start(down.agent(rate="6/m"), standing=Board())
    other = start(down.agent(rate="6/m"), standing=Board(), transport=one.transport)
    for world in (one, other):
        heed(world, CLOSED, instances=2)
    for number in range(40):
        await one.ask("payments.charge", task=f"uid-{number}", **later())
    await asyncio.sleep(120)
    # A bucket of six at once, and six a minute after that.
    assert 16 <= len(down.called_at) <= 18
    assert len([at for at in down.called_at if at < 1]) == 6


async def test_calls_that_wait_for_the_rate_wait_by_the_new_one_when_another_instance_comes(start: Start) -> None:
    down = Down()
    down.is_down = False
    world = start(down.agent(rate="6/m"), standing=Board())
    for number in range(30):
        await world.ask("payments.charge", task=f"uid-{number}", **later())
    await settle()
    heed(world, CLOSED, instances=2)
    await asyncio.sleep(60.5)
    # Six at once; from then on three a minute.
    assert len(down.called_at) == 9
    heed(world, CLOSED, instances=1)
    await asyncio.sleep(60)
    assert len(down.called_at) == 15


async def test_a_rate_that_is_changed_holds_for_calls_that_wait_and_for_those_that_come(start: Start) -> None:
    down = Down()
    down.is_down = False
    world = start(down.agent(rate="1/m"), standing=Board())
    for number in range(30):
        await world.ask("payments.charge", task=f"uid-{number}", **later())
    await settle()
    assert len(down.called_at) == 1
    world.runner.set_rate(RateLimit(6, 60.0))
    await asyncio.sleep(60.5)
    assert down.called_at == pytest.approx([0, 10, 20, 30, 40, 50, 60], abs=0.1)
    world.runner.set_rate(None)
    await settle()
    assert len(down.called_at) == 30


async def test_a_rate_where_there_was_none_begins_without_a_burst_and_is_shared(start: Start) -> None:
    down = Down()
    down.is_down = False
    world = start(down.agent(), standing=Board())
    heed(world, CLOSED, instances=2)
    world.runner.set_rate(RateLimit(12, 60.0))
    for number in range(9):
        await world.ask("payments.charge", task=f"uid-{number}", **later())
    await asyncio.sleep(30.5)
    assert down.called_at == pytest.approx([10, 20, 30], abs=0.1)


async def test_who_waits_for_the_rate_no_more_gives_the_turn_to_the_next(start: Start) -> None:
    down = Down()
    down.is_down = False
    world = start(down.agent(rate="2/m"), standing=Board())
    for number in range(3):
        await world.ask("payments.charge", task=f"uid-{number}", **later())
    await asyncio.sleep(1)
    await world.transport.revoke(QUEUE, "uid-2", 1, "payments.charge/1")
    await world.ask("payments.charge", task="uid-3", **later())
    await world.replies(4)
    assert down.called_at == pytest.approx([0, 0, 30], abs=0.1)


async def test_health_counts_what_is_held_and_what_is_lost(start: Start) -> None:
    agent = Agent("payments", concurrency=3, breaker=CircuitBreaker(1000))

    @agent.operation(complete_by="1s")
    async def charge() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(1000)
        await asyncio.sleep(1000)

    world = start(agent)
    await world.ask("payments.charge", complete_by=START + 1)
    await asyncio.sleep(0.5)
    health = world.runner.health
    assert (health.agent, health.capacity, health.in_flight, health.stuck, health.room) == ("payments", 3, 1, 0, 3)
    await asyncio.sleep(1)
    health = world.runner.health
    assert (health.stuck, health.room, health.breaker) == (1, 2, "closed")
    for call in world.runner._calls.slots:
        assert call.task is not None
        call.task.cancel()
