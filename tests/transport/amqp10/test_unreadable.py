"""A message that the AMQP library cannot read is given on as it is, and breaks no connection."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.programs import client_of_amqp10


class Link:
    """A link of the engine with the bytes of one message."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def recv(self, size: int) -> bytes:
        return self.data[:size]

    def advance(self) -> None:
        pass


@pytest.mark.parametrize("place", ["body", "id", "group_id", "properties"])
async def test_text_that_is_no_utf8_is_a_message_as_it_is(place: str) -> None:
    client_of_amqp10()
    from proton import Message

    from stepward.transport.amqp10.protocol.links import Received, ReceivingLink

    message = Message(body="text")
    setattr(message, place, {"name": "spoilt"} if place == "properties" else "spoilt")
    data = bytes(message.encode()).replace(b"spoilt", b"sp\xff\xfelt")
    came: list[Received] = []
    line = SimpleNamespace(is_counted=True, touch=lambda: None)
    link = ReceivingLink(cast("Any", line), cast("Any", Link(data)), came.append)
    link.came(cast("Any", SimpleNamespace(readable=True, pending=len(data), aborted=False, partial=False)))
    assert [each.message.body for each in came] == [data]
