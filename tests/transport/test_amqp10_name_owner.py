"""The owner of an application's name over AMQP 1.0, where the broker is slow or another store claims the name too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from stepward.errors import SettingsError
from stepward.transport.broker.queue_names import BrokerNames
from tests.programs import client_of_amqp10

NAMES = BrokerNames("shop")
Message = tuple[str, str]
"""The store and the id of a message."""


class Broker:
    """A broker with one queue, which gives each message ``delay`` seconds after it was allowed to."""

    def __init__(self, *messages: Message, delay: float = 0.0) -> None:
        self.messages = list(messages)
        self.delay = delay
        self.name = self.shown = "broker"
        self.places = SimpleNamespace(name="ActiveMQ", owner=lambda names: SimpleNamespace(address="shop.store"))

    async def receiver(self, line: Any, place: Any, on_message: Callable[[Any], None]) -> Any:
        return Link(self, on_message)

    async def sender(self, address: str) -> Any:
        async def put(sent: Any) -> None:
            self.messages.append((sent.body.decode(), sent.ident))
            await asyncio.sleep(0)

        return SimpleNamespace(put=put, close=lambda: None)


class Link:
    """A link that receives from the queue."""

    def __init__(self, broker: Broker, on_message: Callable[[Any], None]) -> None:
        self._broker = broker
        self._on_message = on_message
        self._is_open = True

    def allow(self, count: int) -> None:
        asyncio.get_running_loop().call_later(self._broker.delay, self._give, count)

    def close(self) -> None:
        self._is_open = False

    def _give(self, count: int) -> None:
        for message in self._broker.messages[:count] if self._is_open else ():
            self._on_message(self._received(message))

    def _received(self, message: Message) -> Any:
        return SimpleNamespace(
            message=SimpleNamespace(body=message[0].encode(), ident=message[1]),
            release=lambda: None,
            accept=lambda: self._broker.messages.remove(message),
        )


class LockingBroker(Broker):
    """A broker that gives each message to one reader at a time, by turns, and to the next one when it is put back."""

    def __init__(self) -> None:
        super().__init__()
        self.held: set[Message] = set()
        self.links: list[LockingLink] = []

    async def receiver(self, line: Any, place: Any, on_message: Callable[[Any], None]) -> Any:
        self.links.insert(0, LockingLink(self, on_message))
        return self.links[0]

    def give(self) -> None:
        for message in self.messages:
            reader = next((link for link in self.links if link.credit), None)
            if reader is not None and message not in self.held:
                self.held.add(message)
                reader.credit -= 1
                self.links.remove(reader)
                self.links.append(reader)
                asyncio.get_running_loop().call_soon(reader.take, message)

    def put_back(self, message: Message) -> None:
        self.held.discard(message)
        self.give()


class LockingLink(Link):
    """A link whose messages are held until they are settled."""

    def __init__(self, broker: LockingBroker, on_message: Callable[[Any], None]) -> None:
        super().__init__(broker, on_message)
        self._locking = broker
        self.credit = 0

    def allow(self, count: int) -> None:
        self.credit = count
        self._locking.give()

    def close(self) -> None:
        self.credit = 0
        super().close()

    def take(self, message: Message) -> None:
        if not self._is_open:
            self._locking.put_back(message)
            return
        received = self._received(message)
        received.release = lambda: self._locking.put_back(message)
        self._on_message(received)


async def claimed(broker: Broker, store: str, ident: str) -> bool:
    client_of_amqp10()
    from stepward.transport.amqp10.name_owner import claim

    link: Any = broker
    return await claim(link, link, NAMES, store, ident)


async def test_a_name_that_is_free_is_claimed_once() -> None:
    broker = Broker()
    assert not await claimed(broker, "one", "a")
    assert await claimed(broker, "one", "b")
    assert broker.messages == [("one", "a")]


async def test_another_store_is_refused_though_the_broker_is_slow() -> None:
    broker = Broker(("one", "a"), delay=1.0)
    with pytest.raises(SettingsError, match="the store 'one'"):
        await claimed(broker, "two", "b")
    assert broker.messages == [("one", "a")]


async def test_the_same_store_has_claimed_before_though_the_broker_is_slow() -> None:
    broker = Broker(("one", "a"), delay=1.0)
    assert await claimed(broker, "one", "b")
    assert broker.messages == [("one", "a")]


async def test_of_two_stores_that_claim_at_once_one_is_refused() -> None:
    client_of_amqp10()
    broker = Broker()
    outcomes = await asyncio.gather(claimed(broker, "one", "a"), claimed(broker, "two", "b"), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [bool, SettingsError]
    assert broker.messages == [("one", "a")]


async def test_processes_of_one_store_that_begin_together_wait_for_none_of_each_other() -> None:
    client_of_amqp10()
    broker = LockingBroker()
    async with asyncio.timeout(2.0):
        await asyncio.gather(*(claimed(broker, "one", f"process-{number}") for number in range(12)))
    assert {store for store, _ in broker.messages} == {"one"}
