"""How far an Agent is, as it travels over brokers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stepward.model.current_step import PROGRESS_BYTES
from stepward.model.messages.requests import Outcome
from stepward.transport.contract import AgentMessage
from stepward.transport.wire.encoding import Wire, join
from tests.transport.messages import SIGNER, progress, reply, request
from tests.virtual import START

WIRE = Wire("shop", SIGNER)


def event(**changes: Any) -> bytes:
    return json.dumps({**json.loads(WIRE.encode(progress(), START)), **changes}).encode()


def test_progress_is_a_cloud_event_with_its_time() -> None:
    assert json.loads(WIRE.encode(progress(b'{"page":3}', at=START + 1.25), START + 9)) == {
        "specversion": "1.0",
        "type": "stepward.progress",
        "id": "uid-1/1/payments.charge/1/1/progress/1800000001.250000",
        "source": "/stepward/shop/agents.payments",
        "store": SIGNER.store,
        "proof": SIGNER.proof("uid-1", 1, "payments.charge/1", 1, "payments"),
        "time": "2027-01-15T08:00:01.250000Z",
        "correlationid": "uid-1",
        "run": 1,
        "step": "payments.charge/1",
        "attempt": 1,
        "data": {"page": 3},
    }


def test_progress_in_a_batch_with_replies_is_decoded_unchanged() -> None:
    messages: list[AgentMessage] = [
        progress(b"[1]"),
        reply(outcome=Outcome.DEFERRED, output=None),
        progress(b'"\xc3\xa9"', attempt=2),
    ]
    assert WIRE.decode(join([WIRE.encode(message, START) for message in messages])) == (messages, [], [])


def test_a_request_contains_earlier_progress_as_text() -> None:
    asked = request(attempt=2, progress=b'{"page":3}')
    told = json.loads(WIRE.encode(asked, START))
    assert told["progress"] == '{"page":3}'
    assert "progress" not in json.loads(WIRE.encode(request(), START))
    assert WIRE.decode(join([WIRE.encode(asked, START)])) == ([asked], [], [])


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (event(time=None), "time"),
        (event(time="yesterday"), "time"),
        (event(attempt=-1), "attempt"),
        (event(data="x" * PROGRESS_BYTES), "expected at most 2,048 bytes"),
        (event(data=json.loads("[" * 150 + "]" * 150)), "nested"),
        (event(step="a\0b"), "NUL"),
        (b'{"specversion":"1.0","type":"stepward.progress"}', "without"),
    ],
)
def test_invalid_progress_does_not_affect_its_neighbours(body: bytes, reason: str) -> None:
    sound = progress(b"7")
    messages, spoilt, _ = WIRE.decode(join([body, WIRE.encode(sound, START)]))
    assert messages == [sound]
    (letter,) = spoilt
    assert reason in letter.reason


def test_data_that_are_no_json_are_no_progress() -> None:
    told = json.loads(WIRE.encode(progress(), START))
    del told["data"]
    for more in ({}, {"data_base64": "AAAA"}):
        messages, spoilt, _ = WIRE.decode(json.dumps([{**told, **more}]).encode())
        assert messages == []
        assert "no data, which are the progress" in spoilt[0].reason
