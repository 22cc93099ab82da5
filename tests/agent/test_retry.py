"""Retries within an attempt, the breaker and the rate, on a running Agent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from stepward.agent.declaration import Agent
from stepward.agent.protection.circuit_breaker import BreakerState
from stepward.errors import ServiceUnavailable, Unrecoverable
from stepward.model.messages.requests import Outcome
from stepward.policies import CircuitBreaker, Retry
from tests.agent.conftest import Start
from tests.virtual import START

PATIENT = CircuitBreaker(failures=1000)


class Service:
    """A service that fails as configured, and keeps the times of its calls."""

    def __init__(self, agent: Agent, failures: list[Exception] | Callable[[], Exception]) -> None:
        self.called_at: list[float] = []
        self._failures = failures
        agent.operation(name="charge")(self._charge)

    async def _charge(self) -> str:
        self.called_at.append(asyncio.get_running_loop().time() - START)
        if callable(self._failures):
            raise self._failures()
        if self._failures:
            raise self._failures.pop(0)
        return "done"


def pytest_approx(values: list[float]) -> Any:
    return pytest.approx(values, abs=0.01)


async def test_failures_are_repeated_with_growing_delays(start: Start) -> None:
    agent = Agent("payments", retry=Retry(4, initial=1, factor=2, jitter=False), breaker=PATIENT)
    service = Service(agent, [ValueError("1"), ValueError("2"), ValueError("3")])
    reply = await start(agent).call("payments.charge")
    assert (reply.outcome, reply.calls) == (Outcome.COMPLETED, 4)
    assert service.called_at == pytest_approx([0, 1, 3, 7])


async def test_delays_are_drawn_from_zero_to_the_grown_delay(start: Start) -> None:
    agent = Agent("payments", retry=Retry(5, initial=1, factor=1), breaker=PATIENT)
    service = Service(agent, lambda: ValueError("no"))
    await start(agent).call("payments.charge")
    delays = [b - a for a, b in zip(service.called_at, service.called_at[1:], strict=False)]
    assert len(set(delays)) == 4
    assert all(0 <= delay <= 1 for delay in delays)


async def test_retries_used_up_give_up_with_the_last_error(start: Start) -> None:
    agent = Agent("payments", retry=Retry(2, initial=1), breaker=PATIENT)
    service = Service(agent, [ValueError("first"), KeyError("last")])
    reply = await start(agent).call("payments.charge")
    assert (reply.outcome, reply.calls, reply.maybe_done) == (Outcome.GAVE_UP, 2, True)
    assert reply.error is not None
    error = msgspec.json.decode(reply.error)
    assert (error["message"], error["type"], error["data"]) == ("'last'", "KeyError", {})
    assert len(service.called_at) == 2


@pytest.mark.parametrize(
    ("failures", "maybe_done"),
    [
        ([ServiceUnavailable("x", maybe_done=False), ServiceUnavailable("x", maybe_done=False)], False),
        ([ServiceUnavailable("x", maybe_done=True), ServiceUnavailable("x", maybe_done=False)], True),
        ([ServiceUnavailable("x", maybe_done=True), Unrecoverable("x")], True),
        ([ServiceUnavailable("x", maybe_done=False), Unrecoverable("x")], False),
    ],
)
async def test_any_call_that_may_have_acted_leaves_a_doubt(
    start: Start, failures: list[Exception], maybe_done: bool
) -> None:
    agent = Agent("payments", retry=Retry(2, initial=1), breaker=PATIENT)
    Service(agent, failures)
    assert (await start(agent).call("payments.charge")).maybe_done is maybe_done


async def test_a_delay_past_the_complete_by_gives_up_at_once(start: Start) -> None:
    agent = Agent("payments", retry=Retry(4, initial=10, jitter=False), breaker=PATIENT)
    service = Service(agent, lambda: ValueError("no"))
    world = start(agent)
    reply = await world.call("payments.charge", complete_by=START + 5)
    assert (reply.outcome, reply.calls) == (Outcome.GAVE_UP, 1)
    assert world.now() - START < 1
    assert service.called_at == pytest_approx([0])


async def test_a_service_can_ask_for_more_time(start: Start) -> None:
    agent = Agent("payments", retry=Retry(2, initial=1), breaker=PATIENT)
    service = Service(agent, [ServiceUnavailable("busy", retry_after=8.5)])
    await start(agent).call("payments.charge")
    assert service.called_at == pytest_approx([0, 8.5])


async def test_many_failing_calls_share_a_budget_of_retries(start: Start) -> None:
    agent = Agent("payments", retry=Retry(4, initial=0, jitter=False), breaker=PATIENT)
    service = Service(agent, lambda: ValueError("no"))
    world = start(agent)
    for number in range(60):
        await world.ask("payments.charge", task=f"uid-{number}")
    assert {reply.outcome for reply in await world.replies(60)} == {Outcome.GAVE_UP}
    assert len(service.called_at) == 70


async def test_retries_are_logged(start: Start) -> None:
    agent = Agent("payments", retry=Retry(2, initial=1, jitter=False))
    Service(agent, [ValueError("busy")])
    world = start(agent)
    await world.call("payments.charge")
    (told,) = world.told("agent.retrying")
    assert (told["delay"], told["error"], told["calls"]) == (1.0, "busy", 1)


async def test_an_open_breaker_makes_calls_wait_uncounted(start: Start) -> None:
    agent = Agent("payments", retry=Retry(1), breaker=CircuitBreaker(2, reset_after=10))
    service = Service(agent, [ValueError("1"), ValueError("2")])
    world = start(agent)
    for number in range(2):
        await world.call("payments.charge", task=f"uid-{number}")
    assert world.breaker() == BreakerState.OPEN
    for number in range(2, 5):
        await world.ask("payments.charge", task=f"uid-{number}")
    replies = await world.replies(3)
    assert {(reply.outcome, reply.calls) for reply in replies} == {(Outcome.COMPLETED, 1)}
    assert service.called_at == pytest_approx([0, 0, 10, 10, 10])
    assert world.breaker() == BreakerState.CLOSED
    assert [len(world.told(f"agent.breaker_{name}")) for name in ("opened", "closed")] == [1, 1]


async def test_behind_a_breaker_open_past_its_complete_by_a_call_gives_up(start: Start) -> None:
    agent = Agent("payments", retry=Retry(2, initial=0), breaker=CircuitBreaker(1, reset_after=10))
    service = Service(agent, [ValueError("1")])
    world = start(agent)
    reply = await world.call("payments.charge", task="uid-2", complete_by=START + 5)
    assert (reply.outcome, reply.calls, reply.maybe_done) == (Outcome.GAVE_UP, 1, True)
    assert world.now() - START < 1
    assert len(service.called_at) == 1


async def test_one_call_alone_finds_out_whether_the_service_is_back(start: Start) -> None:
    agent = Agent("payments", retry=Retry(1), breaker=CircuitBreaker(1, reset_after=10))
    service = Service(agent, [ValueError("1"), ValueError("2")])
    world = start(agent)
    await world.call("payments.charge")
    for number in range(2, 6):
        await world.ask("payments.charge", task=f"uid-{number}", complete_by=START + 40)
    outcomes = sorted(reply.outcome for reply in await world.replies(4))
    assert outcomes == [Outcome.COMPLETED] * 3 + [Outcome.GAVE_UP]
    assert service.called_at == pytest_approx([0, 10, 20, 20, 20])


async def test_while_one_call_finds_out_others_wait_and_go_on_as_soon_as_it_is_known(start: Start) -> None:
    agent = Agent("payments", retry=Retry(1), breaker=CircuitBreaker(1, reset_after=10))
    called_at: list[float] = []

    @agent.operation()
    async def charge() -> None:
        called_at.append(asyncio.get_running_loop().time() - START)
        if len(called_at) == 1:
            raise ValueError("down")
        if len(called_at) == 2:
            await asyncio.sleep(2)

    world = start(agent)
    await world.call("payments.charge")
    await world.ask("payments.charge", task="uid-2", complete_by=START + 40)
    await asyncio.sleep(11)
    await world.ask("payments.charge", task="uid-3", complete_by=START + 15)
    assert {reply.outcome for reply in await world.replies(2)} == {Outcome.COMPLETED}
    assert called_at == pytest_approx([0, 10, 12])


async def test_refusals_do_not_open_the_breaker(start: Start) -> None:
    agent = Agent("payments", breaker=CircuitBreaker(2))
    Service(agent, lambda: Unrecoverable("declined"))
    world = start(agent)
    for number in range(5):
        await world.call("payments.charge", task=f"uid-{number}")
    assert world.breaker() == BreakerState.CLOSED


async def test_a_rate_spaces_calls(start: Start) -> None:
    agent = Agent("payments", rate="2/s")
    service = Service(agent, [])
    world = start(agent)
    for number in range(5):
        await world.ask("payments.charge", task=f"uid-{number}")
    await world.replies(5)
    assert service.called_at == pytest_approx([0, 0, 0.5, 1, 1.5])


async def test_a_call_that_the_rate_leaves_no_time_gives_up_undone(start: Start) -> None:
    agent = Agent("payments", rate="1/m")
    service = Service(agent, [])
    world = start(agent)
    await world.call("payments.charge")
    reply = await world.call("payments.charge", task="uid-2")
    assert (reply.outcome, reply.calls, reply.maybe_done) == (Outcome.GAVE_UP, 0, False)
    assert len(service.called_at) == 1
