"""R6: past its deadline an Agent stops and says nothing."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import pytest

from stepward.agent.call import Call
from stepward.agent.declaration import Agent
from stepward.agent.leases_and_deadlines import AT_ONCE, Deadlines
from stepward.agent.protection.circuit_breaker import BreakerState
from stepward.model.messages.requests import Outcome, request_queue
from stepward.policies import CircuitBreaker
from stepward.transport.contract import Delivery
from stepward.transport.memory.memory_transport import MemoryTransport
from tests.agent.conftest import Start
from tests.virtual import START, VirtualLoop, settle


async def test_past_its_complete_by_a_call_is_cancelled_in_silence(start: Start) -> None:
    agent = Agent("payments")
    ended: list[float] = []

    @agent.operation()
    async def charge() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            ended.append(asyncio.get_running_loop().time())

    world = start(agent)
    await world.ask("payments.charge", complete_by=START + 5)
    assert await world.is_silent(200)
    assert ended == [pytest.approx(START + 5, abs=0.01)]
    assert (world.runner.in_flight, world.runner.stuck) == (0, 0)
    (told,) = world.told("agent.overran")
    assert (told["deadline"], told["task"], told["calls"]) == ("complete_by", "order-1", 1)
    assert re.fullmatch(r"test_leases_and_deadlines\.py:\d+ in charge", told["at"])
    assert await world.is_silent(100, request_queue("payments"))


async def test_a_call_that_swallows_its_cancellation_sends_no_reply_and_keeps_its_slot(start: Start) -> None:
    agent = Agent("payments")
    calls: list[int] = []

    @agent.operation()
    async def charge() -> str:
        calls.append(1)
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            await asyncio.sleep(30)
        return "late"

    world = start(agent)
    await world.ask("payments.charge", complete_by=START + 5)
    await asyncio.sleep(10)
    assert (world.runner.in_flight, world.runner.stuck) == (1, 1)
    assert await world.is_silent(100)
    assert (world.runner.in_flight, world.runner.stuck, calls) == (0, 0, [1])


async def test_a_call_that_fails_at_its_cancellation_is_not_repeated(start: Start) -> None:
    agent = Agent("payments")
    calls: list[int] = []

    @agent.operation()
    async def charge() -> str:
        calls.append(1)
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            raise ValueError("cancelled") from None
        return "done"

    world = start(agent)
    await world.ask("payments.charge", complete_by=START + 60)
    await settle()
    world.runner.revoke("uid-1", 1, "payments.charge/1")
    assert [reply.outcome for reply in await world.replies()] == [Outcome.GAVE_UP]
    assert await world.is_silent(100)
    assert calls == [1]


async def test_leases_of_very_many_calls_are_kept_over_passes_of_the_event_loop(start: Start) -> None:
    count, passes = 2 * AT_ONCE + 300, [0]
    extended: list[tuple[int, list[int]]] = []

    class Watching(MemoryTransport):
        async def extend(self, queue: str, deliveries: Sequence[Delivery], lease: float) -> Sequence[Delivery]:
            extended.append((passes[0], [delivery.token for delivery in deliveries]))
            asyncio.get_running_loop().call_soon(lambda: passes.__setitem__(0, passes[0] + 1))
            return await super().extend(queue, deliveries, lease)

    held = Agent("payments", concurrency=count)

    @held.operation()
    async def hold() -> None:
        await asyncio.Event().wait()

    world = start(held, transport=Watching(asyncio.get_running_loop().time), request_lease=3)
    for number in range(count):
        await world.ask("payments.hold", key=f"payments.hold/{number}", complete_by=START + 200)
    await settle()
    await asyncio.sleep(1.1)
    tokens = [token for _, some in extended for token in some]
    assert (tokens, len(set(tokens))) == (sorted(tokens), count)
    assert [turn for turn, _ in extended] == [0, 1, 2]
    assert max(len(some) for _, some in extended) == AT_ONCE
    assert await world.is_silent(30, request_queue("payments"))


async def test_deadlines_of_very_many_calls_are_looked_at_over_passes_of_the_event_loop(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, looks = 2 * AT_ONCE + 300, [0]
    fire, deadline_of = Deadlines._fire, Deadlines.of

    def fired(deadlines: Deadlines) -> None:
        looks.append(0)
        fire(deadlines)

    def looked(deadlines: Deadlines, call: Call) -> float:
        looks[-1] += 1
        return deadline_of(deadlines, call)

    monkeypatch.setattr(Deadlines, "_fire", fired)
    monkeypatch.setattr(Deadlines, "of", looked)
    held = Agent("payments", concurrency=count)

    @held.operation()
    async def hold() -> None:
        await asyncio.Event().wait()

    world = start(held, request_lease=3)
    for number in range(count):
        await world.ask("payments.hold", key=f"payments.hold/{number}", complete_by=START + 5)
    await settle()
    await asyncio.sleep(4)
    assert (world.runner.in_flight, sum(looks), max(looks)) == (count, count, AT_ONCE)
    await asyncio.sleep(1.1)
    assert (world.runner.in_flight, sum(looks), max(looks)) == (0, 2 * count, AT_ONCE)


async def test_a_result_past_the_complete_by_is_thrown_away(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge() -> str:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.now += 30  # the process was stopped here
        return "late"

    world = start(agent)
    await world.ask("payments.charge", complete_by=START + 5)
    assert await world.is_silent(100)
    assert [told["deadline"] for told in world.told("agent.overran")] == ["complete_by"]
    assert world.runner.in_flight == 0


async def test_a_process_that_slept_before_the_effect_does_not_act(start: Start) -> None:
    agent = Agent("payments")
    effects: list[int] = []

    @agent.operation()
    async def charge() -> None:
        effects.append(1)

    def sleep_there(name: str) -> None:
        if name == "agent.call.before":
            loop = asyncio.get_running_loop()
            assert isinstance(loop, VirtualLoop)
            loop.now += 6

    world = start(agent, failpoint=sleep_there)
    await world.ask("payments.charge", complete_by=START + 5)
    assert await world.is_silent(100)
    assert effects == []


async def test_an_instance_past_its_own_lease_does_not_act_and_leaves_the_request(start: Start) -> None:
    agent = Agent("payments")
    effects: list[int] = []

    @agent.operation()
    async def charge() -> None:
        effects.append(1)

    world = start(agent, lease_until=lambda: START + 3)
    await asyncio.sleep(4)
    await world.ask("payments.charge", complete_by=START + 500)
    await asyncio.sleep(1)
    assert effects == []
    await world.runner.drain(0)
    await asyncio.sleep(60)
    taken = await world.transport.take(request_queue("payments"), 1, 30)
    assert len(taken) == 1


async def test_a_request_that_comes_before_the_lease_is_renewed_waits_for_that(start: Start) -> None:
    """After an outage tasks go on before every lease is renewed: what comes then is not left lying."""
    agent = Agent("payments")

    @agent.operation()
    async def charge() -> str:
        return "charged"

    until = [START + 3]
    world = start(agent, lease_until=lambda: until[0])
    await asyncio.sleep(4)
    await world.ask("payments.charge", complete_by=START + 500)
    await asyncio.sleep(1)
    until[0] = START + 100
    async with asyncio.timeout(1):
        await world.replies()


async def test_a_lease_of_the_instance_that_ends_stops_its_calls(start: Start) -> None:
    agent = Agent("payments")
    ended: list[float] = []

    @agent.operation()
    async def charge() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            ended.append(asyncio.get_running_loop().time())

    world = start(agent, lease_until=lambda: START + 3)
    await world.ask("payments.charge", complete_by=START + 50)
    await asyncio.sleep(10)
    assert ended == [pytest.approx(START + 3, abs=0.01)]
    assert world.told("agent.overran")[0]["deadline"] == "lease"
    await world.runner.drain(0)
    await asyncio.sleep(32)
    assert len(await world.transport.take(request_queue("payments"), 10, 30)) == 1


async def test_a_lease_of_the_instance_that_is_renewed_keeps_its_calls(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge() -> str:
        await asyncio.sleep(40)
        return "done"

    loop = asyncio.get_running_loop()
    world = start(agent, lease_until=lambda: loop.time() + 3)
    assert (await world.call("payments.charge", complete_by=START + 50)).output == b'"done"'


async def test_calls_that_never_end_open_the_breaker(start: Start) -> None:
    agent = Agent("payments", breaker=CircuitBreaker(failures=2, reset_after="1h"))

    @agent.operation()
    async def charge() -> None:
        await asyncio.sleep(1000)

    world = start(agent)
    for number in range(2):
        await world.ask("payments.charge", task=f"uid-{number}", complete_by=START + 5 + number)
    await asyncio.sleep(5.5)
    assert world.breaker() == BreakerState.CLOSED
    await asyncio.sleep(1)
    assert world.breaker() == BreakerState.OPEN


async def test_many_calls_end_each_at_its_own_deadline_under_one_timer(start: Start) -> None:
    agent = Agent("payments", concurrency=1000)
    ended: dict[int, float] = {}

    @agent.operation()
    async def charge(number: int) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended[number] = asyncio.get_running_loop().time() - START

    world = start(agent, request_lease=10_000)
    requests = [
        world.request("payments.charge", number, task=f"uid-{number}", complete_by=START + 1 + number * 7 % 500)
        for number in range(500)
    ]
    await world.transport.publish(request_queue("payments"), requests)
    await asyncio.sleep(1000)
    assert ended == {number: pytest.approx(1 + number * 7 % 500, abs=0.01) for number in range(500)}


async def test_a_later_call_may_have_the_earlier_deadline(start: Start) -> None:
    agent = Agent("payments")
    ended: list[tuple[str, float]] = []

    @agent.operation()
    async def charge(name: str) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append((name, asyncio.get_running_loop().time() - START))

    world = start(agent, request_lease=10_000)
    await world.ask("payments.charge", "late", complete_by=START + 50)
    await settle()
    await world.ask("payments.charge", "early", task="uid-2", complete_by=START + 5)
    await asyncio.sleep(60)
    assert [name for name, _ in ended] == ["early", "late"]
    assert [at for _, at in ended] == [pytest.approx(5, abs=0.01), pytest.approx(50, abs=0.01)]


async def test_finished_calls_leave_no_deadline_behind(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge() -> None: ...

    world = start(agent)
    for number in range(500):
        await world.ask("payments.charge", task=f"uid-{number}", complete_by=START + 10_000)
    replies = await world.replies(500)
    assert {reply.outcome for reply in replies} == {Outcome.COMPLETED}
    assert len(world.runner._calls._deadlines._heap) < 100
