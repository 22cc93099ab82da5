"""Two stores under one application name, on real brokers: their clocks cannot leap."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.programs import program
from tests.transport.brokers import SERVERS


def pytest_asyncio_loop_factories(config: Any, item: Any) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"real": asyncio.SelectorEventLoop}


@pytest.fixture(params=["nats", "rabbitmq"])
async def address(request: pytest.FixtureRequest) -> str:
    """A broker of each kind."""
    if request.param == "nats":
        return await asyncio.to_thread(SERVERS.nats)
    program("rabbitmq-server", "rabbitmq-server")
    return await asyncio.to_thread(SERVERS.rabbitmq)
