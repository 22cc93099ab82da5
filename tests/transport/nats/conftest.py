"""Fixtures for NATS, on real servers: their clocks cannot leap."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import nats as client
import pytest
from nats.js import JetStreamContext

from servers import nats
from tests.transport.brokers import SERVERS, clear, new_app


def pytest_asyncio_loop_factories(config: Any, item: Any) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"real": asyncio.SelectorEventLoop}


@pytest.fixture
async def address() -> str:
    return await asyncio.to_thread(SERVERS.nats)


@pytest.fixture
async def app(address: str) -> AsyncIterator[str]:
    name = new_app()
    yield name
    await clear(address, name)


@pytest.fixture
async def stream(address: str) -> AsyncIterator[JetStreamContext]:
    """A connection beside all transports."""
    connection = await client.connect(address)
    yield connection.jetstream()
    await connection.close()


@pytest.fixture
def node() -> Iterator[nats.NatsNode]:
    """A server that may be hurt."""
    with nats.running() as node:
        yield node
