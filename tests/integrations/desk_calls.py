"""What the tests of both libraries share: the tools of a desk, a person who approves, histories."""

from __future__ import annotations

import asyncio
from typing import Any

from stepward import Agent, TaskHandle, current_step
from stepward.client import session_of
from stepward.supervisor.archives.task_reader import history_line
from stepward.testing import AppEnvironment

orders = Agent("orders")
approvals = Agent("approvals")
refunded: list[str] = []
taken_back: list[str] = []
mailboxes: list[asyncio.Queue[tuple[str, dict[str, Any], str]]] = []
"""The approver's mailbox of the test that runs."""


@orders.operation(complete_by="10s")
async def refund(order: str, cents: int) -> str:
    """Pay money back.

    Args:
        order: The order's number.
        cents: The amount.
    """
    refunded.append(current_step().idempotency_key)
    return f"refunded {cents} for {order}"


@refund.undo
async def take_back(result: str | None, order: str, cents: int) -> None:
    taken_back.append(order)


@approvals.operation(complete_by="1d")
async def ask_person(tool: str, arguments: dict[str, Any]) -> bool:
    step = current_step()
    mailboxes[0].put_nowait((tool, arguments, step.completion_token))
    step.finish_later()


def forget() -> None:
    """Begin a test with nothing done."""
    refunded.clear()
    taken_back.clear()
    mailboxes[:] = [asyncio.Queue()]


async def asked() -> tuple[str, dict[str, Any], str]:
    """The next question to the person: tool, arguments, token."""
    return await mailboxes[0].get()


async def history_of(env: AppEnvironment, task: TaskHandle) -> bytes:
    """The task's recorded history, as `stepward history` prints it."""
    session = session_of(env.client)
    record = await session.record(task.id)
    return history_line(record, await session.store.client.steps(record.id))


async def entries(task: TaskHandle, stream: str) -> list[Any]:
    """What the task wrote to a stream, once it has ended."""
    return [value async for _, value in task.stream(stream)]


async def asked_inputs(env: AppEnvironment) -> list[Any]:
    """The inputs of the steps of one question, once it is answered."""
    task = await env.client.submit("support", "broken")
    await task.result()
    return [step.input for step in await task.steps()]
