"""Plain functions in threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from stepward.agent.declaration import Agent
from stepward.model.current_step import current_step
from stepward.model.messages.requests import Outcome
from stepward.policies import Retry
from tests.agent.conftest import Start
from tests.virtual import START, settle

FAR = START + 1e9


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    gate = threading.Event()
    yield gate
    gate.set()


async def test_a_plain_function_runs_in_a_thread_with_its_step(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation()
    def charge(order: str) -> list[Any]:
        here = threading.current_thread() is threading.main_thread()
        current_step().heartbeat("half")
        return [order, here, current_step().attempt]

    world = start(agent)
    reply = await world.call("payments.charge", "o1", complete_by=FAR)
    assert reply.output == b'["o1",false,1]'


async def test_what_a_thread_raises_is_repeated(start: Start) -> None:
    agent = Agent("payments", retry=Retry(3, initial=0))
    calls: list[int] = []

    @agent.operation()
    def charge() -> str:
        calls.append(1)
        if len(calls) < 3:
            raise StopIteration("odd")
        return "done"

    reply = await start(agent).call("payments.charge", complete_by=FAR)
    assert (reply.outcome, reply.calls) == (Outcome.COMPLETED, 3)


async def test_a_thread_past_its_deadline_sends_no_reply_and_keeps_its_slot(
    start: Start, gate: threading.Event
) -> None:
    agent = Agent("payments", concurrency=1)
    entered = threading.Event()

    @agent.operation()
    def charge() -> str:
        entered.set()
        gate.wait(60)
        return "late"

    world = start(agent)
    await world.ask("payments.charge", complete_by=START + 5)
    await settle()
    assert entered.wait(60)
    await asyncio.sleep(6)
    assert (world.runner.in_flight, world.runner.stuck) == (1, 1)
    await world.ask("payments.charge", task="uid-2", complete_by=FAR)
    await asyncio.sleep(10)
    assert world.runner.in_flight == 1
    gate.set()
    assert (await world.replies())[0].task == "uid-2"
    assert (world.runner.in_flight, world.runner.stuck) == (0, 0)
