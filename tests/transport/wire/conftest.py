"""The wire, on real brokers where there is traffic: their clocks cannot leap."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.programs import client_of_amqp10, program
from tests.transport.wire.doors import Door, opened


def pytest_asyncio_loop_factories(config: Any, item: Any) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"real": asyncio.SelectorEventLoop}


@pytest.fixture(scope="package", params=["nats", "rabbitmq"])
def door(request: pytest.FixtureRequest) -> Door:
    """A server of each kind of broker."""
    if request.param == "amqp10":
        client_of_amqp10()
    if request.param != "nats":
        program("rabbitmq-server", "rabbitmq-server")
    return opened(request.param)
