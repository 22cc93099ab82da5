"""Remote services of the order example for the tests, each on a free port."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from examples.orders.agents import AGENTS
from examples.shop.services.process import ServiceProcess
from tests.examples.service_calls import Start
from tests.examples.service_thread import ServiceThread


@pytest.fixture
async def start_process(tmp_path: Path) -> AsyncIterator[Start]:
    """Starts a service as a process, which may end."""
    async with AsyncExitStack() as stack:

        async def start_one(name: str, **options: Any) -> ServiceProcess:
            return await stack.enter_async_context(ServiceProcess(name, tmp_path / f"{name}.db", **options))

        yield start_one


@pytest.fixture
async def start_service(tmp_path: Path) -> AsyncIterator[Start]:
    """Starts a service in this process."""
    async with AsyncExitStack() as stack:

        async def start_one(name: str, **options: Any) -> ServiceProcess:
            return await stack.enter_async_context(ServiceThread(name, tmp_path / f"{name}.db", **options))

        yield start_one


@pytest.fixture
async def payment(start_service: Start) -> ServiceProcess:
    return await start_service("payment")


@pytest.fixture
async def payment_process(start_process: Start) -> ServiceProcess:
    return await start_process("payment")


@pytest.fixture
async def services(start_service: Start, monkeypatch: pytest.MonkeyPatch) -> dict[str, ServiceProcess]:
    """All four, which the application's Agents call."""
    services = {agent.name: await start_service(agent.name) for agent in AGENTS}
    for agent in AGENTS:
        monkeypatch.setattr(agent, "base_url", services[agent.name].url)
    return services
