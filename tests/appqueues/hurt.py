"""Servers that a test may hurt, whichever broker they are of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from servers import nats, rabbitmq

Server = nats.NatsNode | rabbitmq.RabbitServer


@contextmanager
def running(broker: str) -> Iterator[Server]:
    """A server that is stopped at the end of the block."""
    with nats.running() if broker == "nats" else rabbitmq.running() as server:
        yield server
