"""Fixtures for RabbitMQ, on a real server: its clock cannot leap."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from servers import rabbitmq
from tests.programs import program
from tests.transport.brokers import SERVERS


def pytest_asyncio_loop_factories(config: Any, item: Any) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"real": asyncio.SelectorEventLoop}


@pytest.fixture(scope="session")
def server() -> rabbitmq.RabbitServer:
    """The shared server, which tests may stop; they start it again."""
    program("rabbitmq-server", "rabbitmq-server")
    return SERVERS.rabbitmq_server()
