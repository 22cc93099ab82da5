from __future__ import annotations

import json
from typing import Any

import pytest

from stepward.model.messages.requests import Outcome, Reply, traceparent
from stepward.model.messages.signing import Signer, StoreIdentity
from stepward.transport.broker.rejections import RejectionReason
from stepward.transport.contract import AgentMessage
from stepward.transport.wire.encoding import MOST_APART, Wire, join
from stepward.transport.wire.wire_events import decode_revocation, encode_revocation
from tests.transport.messages import IDENTITY, SIGNER, reply, request
from tests.virtual import START

WIRE = Wire("shop", SIGNER)


def told(message: AgentMessage) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(WIRE.encode(message, START))
    return event


def spoilt(**changes: object) -> bytes:
    return json.dumps({**told(reply("x")), **changes}).encode()


def test_a_request_is_a_cloud_event() -> None:
    asked = request(complete_by=START + 10.5)
    assert told(asked) == {
        "specversion": "1.0",
        "type": "stepward.request",
        "id": "uid-1/1/payments.charge/1/1",
        "source": "/stepward/shop",
        "store": SIGNER.store,
        "proof": SIGNER.proof("uid-1", 1, "payments.charge/1", 1, "payments"),
        "subject": "order-1",
        "time": "2027-01-15T08:00:00Z",
        "expirytime": "2027-01-15T08:00:10.500000Z",
        "correlationid": "uid-1",
        "traceparent": traceparent(asked),
        "agent": "payments",
        "operation": "payments.charge",
        "run": 1,
        "step": "payments.charge/1",
        "attempt": 1,
        "idempotencykey": "uid-1/1/payments.charge/1",
        "replyto": "replies.scheduler-1",
        "priority": 5,
        "data": ["o1", 5, "é"],
    }


def test_a_failed_reply_carries_the_error_instead_of_the_output() -> None:
    failed = told(reply(outcome=Outcome.FAILED, output=None, error=b'{"message":"no"}', maybe_done=True))
    assert (failed["type"], failed["outcome"], failed["maybedone"]) == ("stepward.reply", "failed", True)
    assert failed["data"] == {"message": "no"}


def test_an_attempt_has_one_id_and_its_undo_another() -> None:
    ids = [told(asked)["id"] for asked in (request(), request(), request(attempt=2), request(undo=True))]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


@pytest.mark.parametrize("body", [bytes(range(256)), b'"\xff"', b"", b"{"])
def test_bytes_that_are_no_json_are_encoded_too(body: bytes) -> None:
    asked = request(input=body)
    assert "data" not in told(asked)
    assert WIRE.decode(join([WIRE.encode(asked, START)])) == ([asked], [], [])


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "expected a batch of CloudEvents"),
        (b"{", "expected a batch"),
        (b"\xff\xfe", "expected a batch"),
        (b'{"type":"stepward.reply"}', "expected a batch"),
        (b"[" * 100_000, "expected a batch"),
        (b"[null]", "expected a request or a reply"),
        (b"[{}]", "expected a request or a reply"),
        (join([spoilt(type="com.example.order")]), "com.example.order"),
        (join([spoilt(specversion="0.3")]), "specversion"),
        (join([spoilt(run=-1)]), "run"),
        (join([spoilt(attempt=2**31)]), "attempt"),
        (join([spoilt(step="")]), "step"),
        (join([spoilt(step="x" * 2_001)]), "step"),
        (join([spoilt(step="a\0b")]), "NUL"),
        (join([spoilt(outcome="perhaps")]), "outcome"),
        (join([spoilt(type="stepward.request")]), "subject"),
    ],
)
def test_foreign_bytes_are_reported_in_one_line(body: bytes, reason: str) -> None:
    messages, letters, _ = WIRE.decode(body)
    assert messages == []
    (letter,) = letters
    assert reason in letter.reason
    assert "\n" not in letter.reason


def test_a_request_without_arguments_or_with_a_local_time_is_none() -> None:
    event = told(request("x"))
    without = {name: value for name, value in event.items() if name != "data"}
    local = {**event, "expirytime": "2027-01-15T08:00:10"}
    messages, letters, _ = WIRE.decode(json.dumps([without, local]).encode())
    assert messages == []
    assert ["data" in letters[0].reason, "expirytime" in letters[1].reason] == [True, True]


@pytest.mark.parametrize("data", [b'"\xff"', b"[[" * 150 + b"]]" * 150, b"5"])
def test_a_reply_whose_data_cannot_be_recorded_still_reaches_its_scheduler(data: bytes) -> None:
    messages, letters, _ = WIRE.decode(join([spoilt(outcome="gave_up").replace(b'"data": {}', b'"data": ' + data)]))
    assert letters == []
    assert [message.error for message in messages if isinstance(message, Reply)] == [data]


def test_foreign_events_do_not_spoil_their_neighbours() -> None:
    messages, letters, _ = WIRE.decode(join([WIRE.encode(reply("a"), START), b"5", WIRE.encode(reply("b"), START)]))
    assert messages == [reply("a"), reply("b")]
    assert [letter.body for letter in letters] == [b"5"]


def test_a_batch_of_too_many_odd_events_is_one_dead_letter() -> None:
    assert len(WIRE.decode(join([b"{}"] * MOST_APART)).spoilt) == MOST_APART
    (letter,) = WIRE.decode(join([b"{}"] * (MOST_APART + 1))).spoilt
    assert letter.reason == "expected at most 1,000 events in a batch, found 1,001, of which some cannot be read"


def test_a_reply_of_another_applications_agent_is_none_of_ours() -> None:
    read = WIRE.decode(join([Wire("other", SIGNER).encode(reply(), START)]))
    assert (read.messages, [each.reason for each in read.rejected]) == ([], [RejectionReason.UNPROVEN])


def test_a_message_that_names_another_store_is_rejected_whatever_it_proves() -> None:
    copied = Signer(StoreIdentity("0f1e2d3c4b5a69788796", IDENTITY.key))
    read = WIRE.decode(join([Wire("shop", copied).encode(request(), START)]))
    assert (read.messages, [each.reason for each in read.rejected]) == ([], [RejectionReason.FOREIGN_STORE])


def test_attributes_of_others_are_let_pass() -> None:
    assert WIRE.decode(join([spoilt(partitionkey="7", causationid="y")])) == ([reply("x")], [], [])


def test_a_revocation_names_the_step() -> None:
    body = encode_revocation("/stepward/shop/p1", "agents.payments", "uid-1", 2, "payments.charge/1")
    heard = decode_revocation(body)
    assert heard is not None
    assert (heard.subject, heard.correlationid, heard.run, heard.step) == (
        "agents.payments",
        "uid-1",
        2,
        "payments.charge/1",
    )
    assert decode_revocation(b"{}") is None
