"""What an author forgets: an await in a workflow, and that a workflow runs only as a task."""

from __future__ import annotations

import logging
import warnings

import pytest

from stepward import Agent, workflow
from tests.workflow.play import Play


async def test_a_workflow_called_outside_a_task_raises_a_clear_error(caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge(order: str) -> str:
        return order

    @workflow(name="fulfil")
    async def fulfil(order: str) -> str:
        return await charge(order)

    with caplog.at_level(logging.WARNING, logger="stepward.workflow"):
        assert await fulfil("a") == "a"
        assert await fulfil("b") == "b"
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    said = caplog.records[0].getMessage()
    assert said.startswith("fulfil was called outside a task, at test_forgotten.py:")
    assert "submit it with client.submit" in said
    assert caplog.records[1].getMessage().startswith("payments.charge was called outside a task")


def test_a_step_that_is_not_awaited_is_warned_of_with_its_name_and_line() -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge(order: str) -> str:
        return order

    @workflow(name="forgetful")
    async def forgetful(order: str) -> str:
        charge(order)  # type: ignore[unused-coroutine]
        return order

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Play(forgetful, "o")
    (warning,) = caught
    assert str(warning.message) == "coroutine 'operation payments.charge (call it with await)' was never awaited"
    assert (warning.filename, warning.lineno) == (__file__, forgetful.fn.__code__.co_firstlineno + 2)


async def test_an_operation_called_outside_a_task_and_not_awaited_is_warned_of_by_its_name() -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge(order: str) -> str:
        return order

    with pytest.warns(
        RuntimeWarning, match=r"^coroutine 'operation payments.charge \(call it with await\)' was never awaited"
    ):
        charge("a")  # type: ignore[unused-coroutine]
