"""The checker of what travels can fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.transport.wire.described import Described, Tapped

GOLDEN = Path(__file__).parent / "golden" / "v2"
REQUESTS, REPLIES, TOLD = "stepward.shop.queue.agents.x", "stepward.shop.queue.replies.s-1", "stepward.shop.told"


def complaints(address: str, body: bytes) -> list[str]:
    return Described("nats").complaints(Tapped(address, body))


def changed(file: str, **attributes: object) -> bytes:
    """A golden message that was made worse; None takes an attribute away."""
    read = json.loads((GOLDEN / f"{file}.json").read_bytes())
    event = {**(read[0] if isinstance(read, list) else read), **attributes}
    event = {name: value for name, value in event.items() if value is not None}
    return json.dumps([event] if isinstance(read, list) else event).encode()


def test_described_traffic_passes() -> None:
    assert complaints(REQUESTS, changed("request")) == []
    assert complaints(TOLD, changed("revocation")) == []


@pytest.mark.parametrize(
    ("address", "body", "complaint"),
    [
        ("stepward.shop.elsewhere", changed("request"), "no channel"),
        ("stepward.shop.queue.agents.a.b", changed("request"), "no channel"),
        (REPLIES, changed("request"), "expected one of stepward.progress, stepward.reply, found stepward.request"),
        (REQUESTS, b"[{", "no JSON"),
        (REQUESTS, b"\xff", "no JSON"),
        (REQUESTS, changed("request").replace(b"5,", b"NaN,"), "NaN is no number"),
        (REQUESTS, b"[5]", "found None"),
        (REQUESTS, changed("request")[1:-1], "in a batch"),
        (TOLD, b"[" + changed("revocation") + b"]", "alone"),
        (REQUESTS, changed("request", id=None), "'id' is a required property"),
        (REQUESTS, changed("request", id=""), "non-empty"),
        (REQUESTS, changed("request", specversion="0.3"), "is not one of"),
        (REQUESTS, changed("request", attempt=-1), "less than the minimum"),
        (REQUESTS, changed("request", attempt=1.5), "is not of type 'integer'"),
        (REQUESTS, changed("request", priority=2**31), "maximum"),
        (REQUESTS, changed("request", expirytime="tomorrow"), "no instant"),
        (REQUESTS, changed("request", expirytime="2027-01-15T08:00:10"), "no instant"),
        (REQUESTS, changed("request", tenant="x"), "tenant is not described"),
        (REQUESTS, changed("request", reply_to="x"), "'reply_to' is no name"),
        (REQUESTS, changed("request", data_base64="AA=="), "data twice"),
        (REQUESTS, changed("request", traceparent="00-1-2-01"), "traceparent"),
        (REPLIES, changed("reply-failed", outcome="perhaps"), "is not one of"),
        (REPLIES, changed("reply-failed", data="no"), "is not of type 'object'"),
        (TOLD, changed("capacity", subject="mail"), "does not match"),
        (TOLD, changed("capacity", capacity=True), "is not of type 'integer'"),
    ],
)
def test_undescribed_traffic_is_found(address: str, body: bytes, complaint: str) -> None:
    assert any(complaint in found for found in complaints(address, body)), complaints(address, body)


def test_another_content_type_is_found() -> None:
    tapped = Tapped(REQUESTS, changed("request"), "application/json")
    assert Described("nats").complaints(tapped) == ["nats.requests: application/json is another content type"]


def test_checked_messages_are_counted() -> None:
    described = Described("nats")
    described.complaints(Tapped(REQUESTS, changed("request")))
    assert described.seen == {"nats.requests stepward.request"}
    assert described.seen < described.told
