"""Applications whose own queues are a broker's, on real servers: their clocks cannot leap."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.appqueues.shop import Shop
from tests.programs import program
from tests.tiers import sampled
from tests.transport.brokers import SERVERS, clear


def pytest_asyncio_loop_factories(config: Any, item: Any) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"real": asyncio.SelectorEventLoop}


@pytest.fixture(params=sampled(("nats", "rabbitmq"), "nats"))
def broker(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
async def address(broker: str) -> str:
    if broker == "nats":
        return await asyncio.to_thread(SERVERS.nats)
    program("rabbitmq-server", "rabbitmq-server")
    return await asyncio.to_thread(SERVERS.rabbitmq)


@pytest.fixture
async def shop(address: str, tmp_path: Path) -> AsyncIterator[Shop]:
    shop = Shop(address, tmp_path)
    await shop.open()
    yield shop
    await shop.close()
    await clear(address, shop.name)
