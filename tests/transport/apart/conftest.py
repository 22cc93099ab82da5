"""Two stores under one application name, on real brokers: their clocks cannot leap."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.programs import program
from tests.transport.wire.doors import Door, opened


def pytest_asyncio_loop_factories(config: Any, item: Any) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"real": asyncio.SelectorEventLoop}


@pytest.fixture(params=["nats", "rabbitmq"])
async def door(request: pytest.FixtureRequest) -> Door:
    """A server of each kind of broker."""
    if request.param == "rabbitmq":
        program("rabbitmq-server", "rabbitmq-server")
    return await asyncio.to_thread(opened, request.param)


@pytest.fixture
def address(door: Door) -> str:
    return door.address
