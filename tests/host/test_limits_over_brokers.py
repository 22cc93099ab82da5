"""The limit of an Agent, changed while requests go through a broker: every process follows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from servers import nats, rabbitmq
from stepward import Agent, App, workflow
from tests.until import until

pytestmark = pytest.mark.servers

AGENTS: dict[str, Any] = {"scheduler": False, "supervisor": False, "submission": False}
SCHEDULER: dict[str, Any] = {"agents": False, "submission": False}


class Held:
    """A service whose calls last until it lets go of them."""

    def __init__(self) -> None:
        self.running = self.most = 0
        self.let_go = asyncio.Event()

    def app(self, store: str, transport: str) -> App:
        """An application of its own, as in another process, that asks the same service."""
        bank = Agent("bank")

        @bank.operation(complete_by="5m")
        async def charge() -> None:
            self.running += 1
            self.most = max(self.most, self.running)
            try:
                await self.let_go.wait()
            finally:
                self.running -= 1

        @workflow
        async def order() -> None:
            await charge()

        return App("shop", workflows=[order], agents=[bank], store=store, transport=transport)


@pytest.mark.parametrize(
    "broker", [nats.running, pytest.param(rabbitmq.running, marks=pytest.mark.faults)], ids=["nats", "rabbitmq"]
)
async def test_processes_at_a_broker_follow_a_limit_that_is_changed(
    broker: Callable[[], AbstractContextManager[Any]], tmp_path: Path
) -> None:
    service, store = Held(), f"sqlite:///{tmp_path}/shop.db"

    async def running() -> int:
        return service.running

    with broker() as node:
        apps = [service.app(store, node.address) for _ in range(3)]
        async with (
            apps[0].running(**SCHEDULER),
            apps[1].running(**AGENTS),
            apps[2].running(**AGENTS),
            apps[0].client() as client,
        ):
            await until(client.agents, lambda found: any(agent.instances == 2 for agent in found))
            await client.set_limit("agent:bank", 2)
            # Until a process has followed, it knows of no limit.
            await until(client.agents, lambda found: any(agent.capacity == 2 for agent in found))
            tasks = [await client.submit("order", id=f"order-{number}") for number in range(8)]
            await until(running, lambda count: count == 2)
            await client.set_limit("agent:bank", 5)
            await until(running, lambda count: count == 5)
            assert service.most == 5
            await client.reset_limit("agent:bank")
            await until(running, lambda count: count == 8)
            service.let_go.set()
            for task in tasks:
                await task.result(timeout=30)
