"""What strangers may put into the queues of an application (row 29 of the failure catalogue)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

from stepward.transport.wire.encoding import Wire, join
from tests.transport.messages import SIGNER, reply, request
from tests.virtual import START

WIRE = Wire("shop", SIGNER)
DEEP = 100_000


def batch(event: bytes, attributes: Mapping[str, object]) -> bytes:
    """A batch of one event with other attributes; None takes one away. The proof fits them unless it is given."""
    worse: dict[str, Any] = {**json.loads(event), **attributes}
    agent = worse.get("agent") or worse["source"].rpartition(".")[2]
    worse["proof"] = attributes.get("proof", _proof(worse, agent))
    return join([json.dumps({name: value for name, value in worse.items() if value is not None}).encode()])


def _proof(event: Mapping[str, Any], agent: str) -> str:
    return SIGNER.proof(event["correlationid"], event["run"], event["step"], event["attempt"], agent)


def asked(**attributes: object) -> bytes:
    """A batch of one request, made worse; it expires long after the test."""
    return batch(WIRE.encode(request("stranger", agent="till", operation="till.charge"), START), attributes)


def answered(**attributes: object) -> bytes:
    """A batch of one reply without a receiver, made worse."""
    return batch(WIRE.encode(reply("stranger"), START), attributes)


MALFORMED: Mapping[str, bytes] = {
    "nothing": b"",
    "no UTF-8": b"\xff\xfe\x00",
    "no JSON": b"hello",
    "truncated": answered()[:-7],
    "squeezed": gzip.compress(answered() * 1000),
    "of great depth": b"[" * DEEP,
    "no batch": answered()[1:-1],
    "no events": b"[null, 5, []]",
    "foreign": b'[{"specversion":"1.0","type":"com.example.order","id":"1","source":"/x"}]',
    "of another version": answered(specversion="0.3"),
    "without a task": answered(correlationid=None),
    "without an id": answered(id=""),
    "of another type": answered(attempt="1"),
    "a huge attempt": answered(attempt=10**400),
    "a negative run": answered(run=-1),
    "a huge step": answered(step="x" * 500_000),
    "a NUL in the step": answered(step="a\0b"),
    "half a pair in the step": answered(step="X").replace(b'"X"', b'"\\ud800"'),
    "half a pair in the data": answered(data="X").replace(b'"X"', b'"\\ud800"'),
    "NaN": answered(data="X").replace(b'"X"', b"NaN"),
    "data of great depth": answered(data="X").replace(b'"X"', b"[" * DEEP + b"]" * DEEP),
    "no such outcome": answered(outcome="perhaps"),
    "a request without a deadline": asked(expirytime=None),
    "a request by a local clock": asked(expirytime="2099-01-01T00:00:00"),
    "a request without arguments": asked(data=None),
}
"""What lies in the dead letters afterwards; in a batch it would not spoil its neighbours."""

UNREADABLE_REPLIES: Mapping[str, bytes] = {
    "no UTF-8 in the data": answered(data="X").replace(b'"X"', b'"\xff"'),
    "an error that is no object": answered(outcome="failed", data="no"),
}
"""Replies whose data cannot be recorded: a Scheduler takes them as failed attempts in doubt, where it waits for one."""

ODD_DATA: Mapping[str, bytes] = {
    "infinity": b"1e400",
    "a NUL": b'"\\u0000"',
    "a huge number": b"1" + b"0" * 400,
    "a name twice": b'{"a":1,"a":2}',
    "depth": b"[" * 500 + b"]" * 500,
}
"""JSON all the same, at least to some: what an Agent or a workflow makes of it is its own affair."""


def with_data(event: bytes, data: bytes) -> bytes:
    """A batch whose data are these very bytes."""
    return event.replace(b'"DATA"', data)
