"""Fixtures for AMQP 1.0 on a real RabbitMQ server with its plugin, and on a real ActiveMQ: their clocks cannot leap."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from servers.activemq import ActiveMqServer
from servers.rabbitmq import RabbitServer
from tests.programs import client_of_amqp10, program
from tests.tiers import nightly
from tests.transport.brokers import SERVERS


def pytest_asyncio_loop_factories(config: Any, item: Any) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"real": asyncio.SelectorEventLoop}


@pytest.fixture
def rabbit() -> RabbitServer:
    """The shared server, which tests may stop; they start it again."""
    client_of_amqp10()
    program("rabbitmq-server", "rabbitmq-server")
    return SERVERS.rabbitmq_server()


@pytest.fixture(params=["RabbitMQ", nightly("ActiveMQ")])
def server(request: pytest.FixtureRequest) -> RabbitServer | ActiveMqServer:
    """Each server that speaks AMQP 1.0, shared: a test that stops it starts it again."""
    if request.param == "ActiveMQ":
        client_of_amqp10()
        return SERVERS.activemq_server()
    found: RabbitServer = request.getfixturevalue("rabbit")
    return found


@pytest.fixture
def address(server: RabbitServer | ActiveMqServer) -> str:
    return SERVERS.amqp10() if isinstance(server, RabbitServer) else server.address
