"""The owner of an application's name over AMQP 1.0, where the broker is slow or another store claims the name too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

import pytest

from stepward.errors import SettingsError
from stepward.transport.broker.queue_names import BrokerNames
from tests.programs import client_of_amqp10
from tests.virtual import VirtualLoop

NAMES = BrokerNames("shop")
SECONDS_TO_CONNECT = 10.0
"""Within which a connection must be ready for use."""
Outcome = TypeVar("Outcome")


class Message(NamedTuple):
    store: str
    ident: str
    asks: bool = False


class Broker:
    """A queue that gives each message to one link at a time, in turn, and to the next one when it is put back.

    Every step takes up to ``delay`` seconds; the message by which the process ``late`` takes the name one second.
    """

    def __init__(self, *messages: Message, delay: float = 0.0, seed: int = 0, late: str = "") -> None:
        self.messages = list(messages)
        self.late = late
        self.owners_before_late: set[str] = set()
        self.random = Random(seed)
        self.delay = delay
        self.held: dict[Message, Link] = {}
        self.links: list[Link] = []
        self.name = self.shown = "broker"
        self.places = SimpleNamespace(name="ActiveMQ", owner=lambda names: SimpleNamespace(address="shop.store"))

    @property
    def owners(self) -> set[str]:
        """The stores that have the name."""
        return {message.store for message in self.messages if not message.asks}

    async def receiver(self, line: Any, place: Any, on_message: Callable[[Any], None]) -> Link:
        await asyncio.sleep(self.some_time())
        return Link(self, on_message)

    async def sender(self, address: str) -> Any:
        async def put(sent: Any) -> None:
            is_late = sent.ident == self.late and not sent.properties
            await asyncio.sleep(1.0 if is_late else self.some_time())
            if is_late:
                self.owners_before_late = self.owners
            self.messages.append(Message(sent.body.decode(), sent.ident, bool(sent.properties)))
            self.give()
            await asyncio.sleep(self.some_time())

        return SimpleNamespace(put=put, close=lambda: None)

    def some_time(self) -> float:
        return self.random.uniform(0.5, 1.0) * self.delay

    def later(self, call: Callable[..., None], *arguments: Any) -> None:
        asyncio.get_running_loop().call_later(self.some_time(), call, *arguments)

    def give(self) -> None:
        for message in self.messages:
            link = next((link for link in self.links if link.credit), None)
            if link is not None and message not in self.held:
                self.held[message] = link
                link.credit -= 1
                self.links.remove(link)
                self.links.append(link)
                link.take(message)

    def put_back(self, message: Message) -> None:
        self.held.pop(message, None)
        self.give()

    def remove(self, message: Message) -> None:
        self.messages.remove(message)
        self.put_back(message)


class Link:
    """A link that receives from the queue; what it has not settled goes back when it ends."""

    def __init__(self, broker: Broker, on_message: Callable[[Any], None]) -> None:
        self._broker = broker
        self._on_message = on_message
        self._is_open = True
        self.credit = 0

    def allow(self, count: int) -> None:
        self._broker.later(self._allowed, count)

    def close(self) -> None:
        self._is_open = False
        self._broker.later(self._closed)

    def take(self, message: Message) -> None:
        self._broker.later(self._came, message)

    def _allowed(self, count: int) -> None:
        if self._is_open:
            self.credit = count
            self._broker.links.append(self)
            self._broker.give()

    def _closed(self) -> None:
        self.credit = 0
        if self in self._broker.links:
            self._broker.links.remove(self)
        for message in [message for message, link in self._broker.held.items() if link is self]:
            self._broker.put_back(message)

    def _came(self, message: Message) -> None:
        if self._is_open:
            self._on_message(self._received(message))

    def _received(self, message: Message) -> Any:
        properties = {"stepward-asked": True} if message.asks else {}
        return SimpleNamespace(
            message=SimpleNamespace(body=message.store.encode(), ident=message.ident, properties=properties),
            release=lambda: None,
            accept=lambda: self._broker.remove(message),
        )


class Start(NamedTuple):
    """A process that claims the name for a store ``after`` so many seconds."""

    store: str
    ident: str
    after: float = 0.0


def claimed(broker: Broker, *starts: Start) -> dict[str, frozenset[str] | BaseException]:
    """What became of each process, by its id: the claims by which its store has the name, or its error."""
    client_of_amqp10()
    from stepward.transport.amqp10.name_owner import claim

    link: Any = broker

    async def begin(start: Start) -> frozenset[str]:
        await asyncio.sleep(start.after)
        async with asyncio.timeout(SECONDS_TO_CONNECT):
            return await claim(link, link, NAMES, start.store, start.ident, broker.random)

    async def begin_all() -> list[frozenset[str] | BaseException]:
        return await asyncio.gather(*map(begin, starts), return_exceptions=True)

    outcomes = in_virtual_time(begin_all())
    return {start.ident: outcome for start, outcome in zip(starts, outcomes, strict=True)}


def in_virtual_time(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)


def begun(outcomes: dict[str, frozenset[str] | BaseException]) -> set[str]:
    """The ids of the processes that were not refused; any other end than a refusal is an error."""
    for outcome in outcomes.values():
        if isinstance(outcome, BaseException) and not isinstance(outcome, SettingsError):
            raise outcome
    return {ident for ident, outcome in outcomes.items() if isinstance(outcome, frozenset)}


def starts_of(store: str, count: int, chance: Random, within: float) -> Sequence[Start]:
    return [Start(store, f"{chance.random():.9f}", chance.uniform(0, within)) for _ in range(count)]


def test_a_name_that_is_free_is_claimed_once() -> None:
    broker = Broker()
    assert claimed(broker, Start("one", "a")) == {"a": frozenset("a")}
    assert claimed(broker, Start("one", "b")) == {"b": frozenset("a")}
    assert broker.messages == [Message("one", "a")]


def test_another_store_is_refused_though_the_broker_is_slow() -> None:
    broker = Broker(Message("one", "b"), delay=0.3)
    outcomes = claimed(broker, Start("two", "a"))
    assert "the store 'one'" in str(outcomes["a"])
    assert broker.owners == {"one"}


def test_the_same_store_has_claimed_before_though_the_broker_is_slow() -> None:
    broker = Broker(Message("one", "b"), delay=0.3)
    assert claimed(broker, Start("one", "a")) == {"a": frozenset("b")}
    assert broker.owners == {"one"}


def test_what_was_asked_and_comes_back_with_a_broker_that_crashed_changes_no_claim() -> None:
    broker = Broker(Message("one", "b", asks=True), Message("one", "b"))
    assert claimed(broker, Start("one", "a")) == {"a": frozenset("b")}


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.05])
def test_of_two_stores_that_claim_at_one_instant_the_least_id_wins(delay: float) -> None:
    broker = Broker(delay=delay)
    outcomes = claimed(broker, Start("one", "b"), Start("two", "a"))
    assert begun(outcomes) == {"a"}
    assert broker.owners == {"two"}


def test_of_two_stores_that_claim_at_about_one_time_one_wins_and_all_processes_find_the_same() -> None:
    for seed in range(100):
        chance = Random(seed)
        broker = Broker(delay=chance.choice([0.001, 0.005, 0.02]), seed=seed)
        within = chance.choice([0.0, 0.1, 0.6])
        one, two = (starts_of(store, chance.randint(1, 4), chance, within) for store in ("one", "two"))
        won = begun(claimed(broker, *one, *two))
        assert won in ({start.ident for start in one}, {start.ident for start in two}), seed
        assert len(broker.owners) == 1, seed


def test_another_store_is_refused_while_many_processes_read_the_claim() -> None:
    for seed in range(20):
        chance = Random(seed)
        broker = Broker(Message("one", "z"), delay=0.005, seed=seed)
        one, two = starts_of("one", 20, chance, 0.3), starts_of("two", 1, chance, 0.3)
        assert begun(claimed(broker, *one, *two)) == {start.ident for start in one}, seed


def test_a_store_that_asked_first_and_is_gone_leaves_the_name_to_the_next() -> None:
    gone = Message("one", "a", asks=True)
    broker = Broker(gone)
    assert "several ask for it; start again" in str(claimed(broker, Start("two", "b"))["b"])
    # The broker drops what was asked after its time to live.
    broker.messages.clear()
    assert claimed(broker, Start("two", "c")) == {"c": frozenset("c")}


def test_a_store_whose_claim_came_late_gives_the_name_back_to_one_that_took_it() -> None:
    broker = Broker(delay=0.001, late="b")
    outcomes = claimed(broker, Start("one", "b"), Start("two", "a", after=0.455))
    assert broker.owners_before_late == {"two"}
    assert begun(outcomes) == {"a"}
    assert broker.messages == [Message("two", "a")]


def test_processes_of_one_store_that_begin_together_wait_for_none_of_each_other() -> None:
    broker = Broker(delay=0.002)
    starts = [Start("one", f"{number:02}") for number in range(24)]
    assert begun(claimed(broker, *starts)) == {start.ident for start in starts}
    assert broker.owners == {"one"}
