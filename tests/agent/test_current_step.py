from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from stepward.agent.declaration import Agent
from stepward.errors import StepwardError
from stepward.model.current_step import CurrentStep, current_step
from tests.agent.conftest import Start
from tests.virtual import START


def test_outside_an_operation_there_is_none() -> None:
    with pytest.raises(StepwardError, match=r"current_step\(\): expected to be called inside an operation"):
        current_step()


async def test_an_operation_sees_its_step(start: Start) -> None:
    agent = Agent("payments")
    seen: list[CurrentStep] = []
    left: list[float] = []

    @agent.operation()
    async def charge(order: str) -> None:
        step = current_step()
        seen.append(step)
        left.append(step.remaining)
        await asyncio.sleep(1.5)
        left.append(step.remaining)

    world = start(agent)
    await world.call("payments.charge", "o1", attempt=3, complete_by=START + 12.5)
    (step,) = seen
    assert (step.task_id, step.name, step.attempt) == ("order-1", "payments.charge", 3)
    assert (step.idempotency_key, step.undoes) == ("uid-1/1/payments.charge/1", None)
    assert step.complete_by == datetime.fromtimestamp(START + 12.5, UTC)
    assert left == pytest.approx([12.5, 11.0], abs=0.001)
    assert step.headers() == {
        "Idempotency-Key": "uid-1/1/payments.charge/1",
        "Stepward-Complete-By": "2027-01-15T08:00:12.500Z",
        "traceparent": "00-0000000000000000000000000000uid1-b7dab54500010003-01",
    }


async def test_an_undo_receives_the_key_of_what_it_undoes(start: Start) -> None:
    agent = Agent("payments")
    seen: list[tuple[Any, dict[str, str]]] = []

    @agent.operation()
    async def charge(order: str) -> dict[str, str]:
        return {}

    @charge.undo
    async def refund(receipt: dict[str, str] | None, order: str) -> None:
        seen.append(((receipt, order), current_step().headers()))

    world = start(agent)
    undo = {"undo": True, "undoes": "uid-1/1/payments.charge/1"}
    await world.call("payments.charge", {"id": "r1"}, "o1", **undo)
    await world.call("payments.charge", None, "o1", **undo)
    assert [given for given, _ in seen] == [({"id": "r1"}, "o1"), (None, "o1")]
    assert seen[0][1]["Stepward-Undoes"] == "uid-1/1/payments.charge/1"


async def test_operations_at_once_see_each_their_own(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge() -> str:
        await asyncio.sleep(1)
        return current_step().idempotency_key

    world = start(agent)
    for number in range(3):
        await world.ask("payments.charge", task=f"uid-{number}", idempotency_key=f"key-{number}")
    replies = await world.replies(3)
    assert {reply.output for reply in replies} == {b'"key-0"', b'"key-1"', b'"key-2"'}
