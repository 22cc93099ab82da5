"""Fixtures for AMQP 1.0 on a real RabbitMQ server with its plugin: its clock cannot leap."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from servers.rabbitmq import RabbitServer
from tests.programs import client_of_amqp10, program
from tests.transport.brokers import SERVERS


def pytest_asyncio_loop_factories(config: Any, item: Any) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"real": asyncio.SelectorEventLoop}


@pytest.fixture(scope="session")
def server() -> RabbitServer:
    """The shared server, which tests may stop; they start it again."""
    client_of_amqp10()
    program("rabbitmq-server", "rabbitmq-server")
    return SERVERS.rabbitmq_server()


@pytest.fixture
def address(server: RabbitServer) -> str:
    return SERVERS.amqp10()
