from __future__ import annotations

import json

import pytest

from stepward.model.agents import AgentHealth
from stepward.transport.wire.capacity_announcements import decode_capacity

WORD = {
    "specversion": "1.0",
    "type": "stepward.capacity",
    "id": "7f3a-12",
    "source": "/stepward/shop/mail-7f3a",
    "subject": "agents.mail",
    "capacity": 16,
}


def test_an_announcement_carries_the_agents_health() -> None:
    told = json.dumps({**WORD, "inflight": 3, "traceparent": "x"}).encode()
    assert decode_capacity(told) == ("/stepward/shop/mail-7f3a", AgentHealth(agent="mail", capacity=16, in_flight=3))


@pytest.mark.parametrize(
    "worse",
    [
        {"type": "stepward.revocation"},
        {"specversion": "0.3"},
        {"id": ""},
        # Else a program that uses the name of a host renews the instances that serve there.
        {"source": "web-1"},
        {"source": "/stepward/shop/"},
        {"source": "/stepward/shop/mail\0"},
        {"subject": "mail"},
        {"subject": "replies.scheduler-1"},
        {"subject": "agents."},
        {"capacity": -1},
        {"capacity": 100_001},
        {"capacity": "16"},
        {"inflight": -1},
    ],
)
def test_other_bodies_are_no_announcement(worse: dict[str, object]) -> None:
    assert decode_capacity(json.dumps({**WORD, **worse}).encode()) is None


@pytest.mark.parametrize("body", [b"", b"\xff", b"[]", b"null", b"[" * 100_000])
def test_nor_is_what_is_no_event(body: bytes) -> None:
    assert decode_capacity(body) is None
