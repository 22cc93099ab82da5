"""What is RabbitMQ's own, on a real server: its clock cannot leap."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from servers import rabbitmq
from tests.programs import program


def pytest_asyncio_loop_factories(config: Any, item: Any) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"real": asyncio.SelectorEventLoop}


@pytest.fixture(scope="module")
def server() -> Iterator[rabbitmq.RabbitServer]:
    """A server that tests may stop; they start it again."""
    program("rabbitmq-server", "rabbitmq-server")
    with rabbitmq.running() as server:
        yield server
