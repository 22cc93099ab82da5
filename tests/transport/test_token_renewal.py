"""The renewal of tokens at Azure Service Bus: tried again until it succeeds, or the token has expired."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.programs import client_of_amqp10
from tests.scheduler.world import VirtualClock

LIFETIME = 3600.0
QUEUE = "agents.payments"


class Node:
    """The node of a broker that takes tokens, and refuses some of them."""

    def __init__(self) -> None:
        self.put_at: list[float] = []
        self.refused: range = range(0)

    async def call(self, operation: str, value: Any, properties: Any = None) -> None:
        from stepward.transport.amqp10.protocol.faults import AmqpFault

        self.put_at.append(asyncio.get_running_loop().time())
        if len(self.put_at) in self.refused:
            raise AmqpFault("the broker is busy")


class Tokens:
    """Tokens that last an hour."""

    async def token(self, audience: str) -> Any:
        return SimpleNamespace(text="t", kind="jwt", expires_at=asyncio.get_running_loop().time() + LIFETIME)


def authorized(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Node]:
    client_of_amqp10()
    from stepward.transport.amqp10.service_bus import authorization

    node = Node()
    monkeypatch.setattr(authorization, "ManagementNode", lambda line, address: node)
    line = cast("Any", SimpleNamespace(why=None))
    return authorization.Authorization(line, "bus", Tokens(), VirtualClock()), node


async def test_a_token_that_could_not_be_put_is_put_again_before_it_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    authorization, node = authorized(monkeypatch)
    node.refused = range(2, 5)
    began = asyncio.get_running_loop().time()
    await authorization(QUEUE)
    await asyncio.sleep(LIFETIME)
    authorization.close()
    assert [round(at - began) for at in node.put_at] == [0, 2400, 2401, 2403, 2407]


async def test_a_token_that_has_expired_is_left_to_the_next_link(monkeypatch: pytest.MonkeyPatch) -> None:
    authorization, node = authorized(monkeypatch)
    node.refused = range(2, 1000)
    await authorization(QUEUE)
    await asyncio.sleep(LIFETIME + 60)
    count = len(node.put_at)
    await asyncio.sleep(LIFETIME)
    assert len(node.put_at) == count < 60
    node.refused = range(0)
    await authorization(QUEUE)
    assert len(node.put_at) == count + 1
    authorization.close()


async def test_a_token_that_a_link_has_put_is_renewed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    authorization, node = authorized(monkeypatch)
    monkeypatch.setattr("stepward.transport.amqp10.service_bus.authorization.LEFT_SECONDS", 2 * LIFETIME)
    for _ in range(3):
        await authorization(QUEUE)
    await asyncio.sleep(0.7 * LIFETIME)
    authorization.close()
    assert len(node.put_at) == 4
