"""What carries the messages of the application under torture: its stores, or a broker of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from servers import nats, rabbitmq

STORE = "store"
TRANSPORTS = (STORE, "nats", "rabbitmq")


@contextmanager
def carrying(kind: str) -> Iterator[str]:
    """The setting ``transport`` for one of ``TRANSPORTS``; its broker is gone with the block."""
    if kind == "nats":
        with nats.running() as node:
            yield node.address
    elif kind == "rabbitmq":
        with rabbitmq.running() as server:
            yield server.address
    else:
        yield STORE
