"""Credit and lapsed messages at a broker that counts added credit twice and keeps what is released."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from stepward.errors import TransportError
from tests.programs import client_of_amqp10

QUEUE = "agents.payments"


class Link:
    """A link of the engine, and the credit that it gave."""

    def __init__(self) -> None:
        self.credit = 0
        self.flows: list[int] = []

    def flow(self, count: int) -> None:
        self.flows.append(count)
        self.credit += count

    def recv(self, size: int) -> bytes:
        return b"no message of AMQP"

    def advance(self) -> None:
        self.credit -= 1


class Held:
    """A message that is not settled."""

    def __init__(self) -> None:
        self.link = SimpleNamespace(why=None)
        self.message = SimpleNamespace(body=b"[]", ident="one")
        self.ends: list[str] = []

    def accept(self) -> None:
        self.ends.append("accepted")

    def release(self) -> None:
        self.ends.append("released")


def receiving(engine: Link, came: list[Any], *, adds_credit: bool) -> Any:
    client_of_amqp10()
    from stepward.transport.amqp10.protocol.links import ReceivingLink

    line = SimpleNamespace(is_counted=True, adds_credit=adds_credit, touch=lambda: None)
    return ReceivingLink(cast("Any", line), cast("Any", engine), came.append)


def delivered(link: Any) -> None:
    link.came(SimpleNamespace(readable=True, pending=18, aborted=False, partial=False))


async def test_credit_waits_until_none_is_left() -> None:
    engine = Link()
    link = receiving(engine, [], adds_credit=False)
    link.allow(2)
    link.allow(3)
    assert (engine.flows, link.credit) == ([2], 5)
    delivered(link)
    assert engine.flows == [2]
    delivered(link)
    assert engine.flows == [2, 3]


async def test_credit_is_added_at_other_brokers() -> None:
    engine = Link()
    link = receiving(engine, [], adds_credit=True)
    link.allow(2)
    link.allow(3)
    assert engine.flows == [2, 3]


@pytest.mark.parametrize(("adds_credit", "flows"), [(True, [2, 3, -5]), (False, [2])])
async def test_credit_that_was_given_is_taken_back_only_where_it_may_be_added(
    adds_credit: bool, flows: list[int]
) -> None:
    engine = Link()
    link = receiving(engine, [], adds_credit=adds_credit)
    link.allow(2)
    link.allow(3)
    link.withdraw()
    assert engine.flows == flows
    delivered(link)
    delivered(link)
    assert engine.flows == flows


async def test_a_message_over_a_link_that_has_ended_is_dropped() -> None:
    came: list[Any] = []
    link = receiving(Link(), came, adds_credit=True)
    delivered(link)
    assert len(came) == 1
    from stepward.transport.amqp10.protocol.faults import AmqpFault

    link.end(AmqpFault("closed"))
    delivered(link)
    assert len(came) == 1


@pytest.mark.parametrize(
    ("returns_released", "fails", "ends"),
    [(True, False, ["released"]), (False, False, ["accepted"]), (False, True, ["released"])],
)
async def test_a_lapsed_message_is_put_again_where_a_release_leaves_it_with_its_link(
    returns_released: bool, fails: bool, ends: list[str]
) -> None:
    client_of_amqp10()
    from stepward.transport.amqp10.protocol.messages import RETURNED
    from stepward.transport.amqp10.requests_and_replies.consumer import AmqpSource

    sent: list[Any] = []

    async def send(what: str, place: str, messages: list[Any]) -> None:
        if fails:
            raise TransportError("away")
        sent.extend(messages)

    places = SimpleNamespace(returns_released=returns_released, requests=lambda queue: queue)
    link = SimpleNamespace(places=places, send=send)
    source = AmqpSource(cast("Any", link), QUEUE, cast("Any", None), lambda: 0.0)
    held = Held()
    await source.refuse([cast("Any", held)])
    assert held.ends == ends
    assert [(each.body, each.ident, each.properties) for each in sent] == (
        [(b"[]", "one", {RETURNED: True})] if ends == ["accepted"] else []
    )
