"""Whole applications over real brokers, with a SQLite file for a store; whatever a test starts ends with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from servers import nats, rabbitmq
from tests.programs import program
from tests.transport.brokers import SERVERS


def pytest_asyncio_loop_factories(config: Any, item: Any) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"real": asyncio.SelectorEventLoop}


@pytest.fixture
async def node() -> str:
    """The address of a NATS server that all tests share: it is not to be hurt."""
    return await asyncio.to_thread(SERVERS.nats)


@pytest.fixture
async def broker(request: pytest.FixtureRequest) -> str:
    """The address of a NATS server, or of RabbitMQ, that all tests share."""
    if request.param == "rabbitmq":
        program("rabbitmq-server", "rabbitmq-server")
        return await asyncio.to_thread(SERVERS.rabbitmq)
    return await asyncio.to_thread(SERVERS.nats)


@pytest.fixture
def own_node() -> Iterator[nats.NatsNode]:
    """A NATS server that may be hurt."""
    with nats.running() as node:
        yield node


@pytest.fixture
def cluster() -> Iterator[nats.NatsCluster]:
    """Three NATS servers that may be hurt."""
    with nats.clustered() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def rabbit() -> Iterator[rabbitmq.RabbitServer]:
    """A RabbitMQ server that tests may stop; a test that does starts it again."""
    program("rabbitmq-server", "rabbitmq-server")
    with rabbitmq.running() as server:
        yield server
