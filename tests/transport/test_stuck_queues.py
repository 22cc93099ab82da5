"""When a queue of RabbitMQ counts as one that takes nothing, and is replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from stepward.clock import Environment
from stepward.transport.broker.batching import MessageBatch
from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.rabbitmq.requests_and_replies.publisher import RequestPublisher
from stepward.transport.rabbitmq.requests_and_replies.queue_declarations import QueueDeclarations

HOUR = 3600.0


class Channel:
    """Every channel of a server, which declares and deletes; ``answers`` says whether it confirms."""

    def __init__(self) -> None:
        self.answers = True
        self.deleted: list[str] = []
        self.name = "any"
        self.connection = self.channel = self.publishing = self.default_exchange = self

    async def __call__(self, **_: Any) -> Channel:
        return self

    async def publish(self, *_: Any, timeout: float, **__: Any) -> None:
        if not self.answers:
            await asyncio.sleep(timeout)
            raise TimeoutError

    async def declare_queue(self, *_: Any, **__: Any) -> Channel:
        return self

    async def declare_exchange(self, *_: Any, **__: Any) -> Channel:
        return self

    async def get_queue(self, *_: Any, **__: Any) -> Channel:
        return self

    async def bind(self, *_: Any, **__: Any) -> None:
        return

    async def queue_delete(self, name: str, **_: Any) -> None:
        self.deleted.append(name)

    async def close(self) -> None:
        return

    async def line(self) -> Channel:
        return self

    @contextmanager
    def reaching(self, _: str) -> Iterator[None]:
        yield


class Stage:
    """Queues on such a server."""

    def __init__(self) -> None:
        self.server = Channel()
        link: Any = self.server
        queues = QueueDeclarations(link, BrokerNames("shop"), self._broadcast_loss)
        self.publisher = RequestPublisher(link, queues, asyncio.get_running_loop().time, Environment())

    async def append(self) -> None:
        await self.publisher.append("agents.x", [MessageBatch(b"[]", float("inf"))])

    async def time_out(self, times: int) -> None:
        self.server.answers = False
        for _ in range(times):
            with pytest.raises(TimeoutError):
                await self.append()
            await asyncio.sleep(1)
        self.server.answers = True

    async def _broadcast_loss(self, _: str) -> None:
        return


async def test_a_queue_that_takes_nothing_for_a_while_is_deleted() -> None:
    stage = Stage()
    await stage.time_out(4)
    assert stage.server.deleted == []
    await stage.time_out(1)
    assert stage.server.deleted == ["stepward.shop.agents.x"]


async def test_timeouts_with_hours_between_them_are_no_silence() -> None:
    stage = Stage()
    for _ in range(5):
        await stage.time_out(2)
        await asyncio.sleep(HOUR)
    assert stage.server.deleted == []


async def test_a_confirmation_ends_a_silence() -> None:
    stage = Stage()
    for _ in range(5):
        await stage.time_out(3)
        await stage.append()
    assert stage.server.deleted == []
