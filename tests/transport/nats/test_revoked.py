"""A request that is revoked while no Agent listens is given up by the Agent that comes."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from stepward import Agent, App, TaskHandle, workflow
from stepward.client import session_of
from stepward.model.agents import AgentHealth
from stepward.model.records import Instance, Role
from stepward.model.states import StepState

pytestmark = pytest.mark.servers

payments = Agent("payments")


@payments.operation(complete_by="5m")
async def charge(order: str) -> None:
    await asyncio.Event().wait()


@charge.undo
async def refund(result: None, order: str) -> None:
    return


@workflow
async def pay(order: str) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.2):
            await charge(order)


async def state(task: TaskHandle[None], wanted: StepState) -> None:
    """Wait until the step is there in that state."""
    async with asyncio.timeout(20):
        while not any(step.state is wanted for step in await task.steps()):  # noqa: ASYNC110 - a Scheduler moves it
            await asyncio.sleep(0.02)


async def test_a_later_agent_receives_earlier_revocations(address: str, app: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/shop.db"
    shop = App(app, workflows=[pay], agents=[payments], store=store, transport=address)
    agents = App(app, workflows=[pay], agents=[payments], store=store, transport=address)
    async with shop.client() as client:
        health = AgentHealth(agent="payments", capacity=9, in_flight=0)
        gone = Instance(
            id="agent-1", role=Role.AGENT, host="h", pid=1, serves=["payments"], capacity=9, health=[health]
        )
        await session_of(client).store.host.register(gone, 300.0)
    async with shop.running(agents=False), shop.client() as client:
        task = await client.submit(pay, "o1")
        await state(task, StepState.ABANDONED)
        async with agents.running(scheduler=False, supervisor=False):
            await task.result(timeout="20s")
