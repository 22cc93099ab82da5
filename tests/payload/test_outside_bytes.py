"""Input from outside is checked in linear time, whatever it contains."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from stepward.agent.http.answers import excerpt, retry_after
from stepward.errors import Refused
from stepward.model.messages.cloudevents import data_of, decode_event
from stepward.model.messages.completion_tokens import read_token
from stepward.observers.webhook_posts import FINAL
from stepward.outbox.entry import OutboxRow, read
from stepward.payload import DEPTH, check_size
from stepward.payload.nesting import is_deeper
from stepward.transport.queues.response_log import unpacked
from stepward.transport.wire.capacity_announcements import decode_capacity
from stepward.transport.wire.encoding import MOST_APART, Wire
from stepward.transport.wire.loss_broadcasts import decode_loss
from stepward.transport.wire.wire_events import decode_revocation
from tests.transport.messages import SIGNER

SIZE = 1024 * 1024
TRIES = 5
LOOKED_AT = 0.02
"""Seconds of processor time for a mebibyte that is only looked at: a few milliseconds, and room for a busy machine."""
SPLIT = 0.1
"""The same where a batch is split into its events, of which there may be 500,000."""
BUILT = 1.0
"""The same where every value becomes an object of Python: some 0.3 µs for each of up to 500,000."""


def filled(start: bytes, part: bytes, end: bytes = b"") -> bytes:
    return start + part * ((SIZE - len(start) - len(end)) // len(part)) + end


SHAPES: dict[str, bytes] = {
    "an unterminated text of escaped quotes": filled(b"[" * 101 + b'"', b'\\"'),
    "an unterminated text": filled(b"[" * 101 + b'"', b"x"),
    "quotes alone": filled(b"[" * 101, b'"'),
    "many texts": filled(b"[[", b'"[",', b'""]]'),
    "backslashes": filled(b'["', b"\\\\", b'"]'),
    "backslashes with no end": filled(b"[" * 101 + b'"', b"\\"),
    "escaped quotes and brackets": filled(b'["', b'\\"[', b'"]'),
    "open brackets": filled(b"", b"["),
    "open braces": filled(b"", b'{"":'),
    "balanced brackets": filled(b"", b"[")[: SIZE // 2] + b"]" * (SIZE // 2),
    "brackets as deep as may be": filled(b"[", b"[" * 98 + b"]" * 98 + b",", b"[]]"),
    "brackets up and down": filled(b"[" * 90, b"[[[]],[],[[]]],", b"[]" + b"]" * 90),
    "empty lists": filled(b"[", b"[],", b"[]]"),
    "empty objects": filled(b"[", b"{},", b"{}]"),
    "numbers": filled(b"[", b"1,", b"1]"),
    "a huge number": filled(b"[" * 101, b"9"),
    "a huge fraction": filled(b"[0.", b"9", b"]"),
    "many keys": b"{" + b",".join(b'"%07x":0' % number for number in range(SIZE // 12)) + b"}",
    "the same key": filled(b"{", b'"a":0,', b'"a":0}'),
    "no UTF-8": filled(b'["' + b"[" * 101, b"\xff", b'"]'),
    "spaces": filled(b"[", b" ", b"]"),
    "NUL": filled(b"", b"\0"),
}
wire = Wire("shop", SIGNER)


def with_data(data: bytes, **attributes: object) -> bytes:
    """A batch of one reply that carries those data."""
    reply = {
        "specversion": "1.0", "type": "stepward.reply", "id": "1", "source": "s", "correlationid": "c",
        "run": 1, "step": "s/1", "attempt": 1, "outcome": "failed", **attributes,
    }  # fmt: skip
    return b"[" + msgspec.json.encode(reply)[:-1] + b',"data":' + data + b"}]"


def event(data: bytes) -> bytes:
    return b'{"id":"1","source":"s","type":"t","specversion":"1.0","data":' + data + b"}"


ENTRANCES: dict[str, tuple[Callable[[bytes], object], float]] = {
    "nesting": (lambda data: is_deeper(data, DEPTH), LOOKED_AT),
    "size": (lambda data: check_size(data, "input", limit=2 * SIZE), LOOKED_AT),
    "wire": (wire.decode, SPLIT),
    "data of a failed reply": (lambda data: wire.decode(with_data(data)), SPLIT),
    "data of an error": (lambda data: wire.decode(with_data(b'{"message":"","data":{"a":%b}}' % data)), SPLIT),
    "result of a reply": (lambda data: wire.decode(with_data(data, outcome="completed")), SPLIT),
    "progress": (lambda data: wire.decode(with_data(data, type="stepward.progress")), SPLIT),
    "revocation": (decode_revocation, LOOKED_AT),
    "capacity": (decode_capacity, LOOKED_AT),
    "loss": (decode_loss, LOOKED_AT),
    "batch of events": (unpacked, SPLIT),
    "event": (decode_event, LOOKED_AT),
    "data of an event": (lambda data: decode_event(event(data)), LOOKED_AT),
    "value of an event": (lambda data: data_of(decode_event(event(data))), BUILT),
    "completion token": (lambda data: read_token(data.decode("latin1"), b"key"), LOOKED_AT),
    "answer of an HTTP service": (excerpt, LOOKED_AT),
    "Retry-After": (lambda data: retry_after({"Retry-After": data.decode("latin1")}, 0.0), SPLIT),
    "answer to a webhook": (FINAL.match, LOOKED_AT),
    "outbox row": (lambda data: read(OutboxRow(1, b"1", data), limit=2 * SIZE), BUILT),
}


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_a_mebibyte_costs_milliseconds_whatever_it_is_made_of(entrance: str) -> None:
    look, bound = ENTRANCES[entrance]
    taken = {shape: seconds_of(look, data, bound) for shape, data in SHAPES.items()}
    assert {shape: taken[shape] for shape in taken if taken[shape] > bound} == {}


def seconds_of(look: Callable[[bytes], object], data: bytes, bound: float) -> float:
    """The processor time of the first try within the bound, else the least; a refusal must be quick, too."""
    taken: list[float] = []
    while len(taken) < TRIES and not (taken and taken[-1] <= bound):
        start = time.process_time()
        with suppress(Refused, msgspec.MsgspecError, UnicodeDecodeError):
            look(data)
        taken.append(time.process_time() - start)
    return min(taken)


def test_depth_is_found_as_a_parser_finds_it() -> None:
    chance = random.Random(11)
    for _ in range(3000):
        value = [made(chance, chance.randrange(12)) for _ in range(chance.randrange(5))]
        data = json.dumps(value, ensure_ascii=chance.random() < 0.5).encode()
        deepest = depth_of(value)
        assert [is_deeper(data, deepest + offset) for offset in (-1, 0, 1)] == [True, False, False], data


def test_depth_counts_within_long_runs_of_brackets() -> None:
    for width in range(1, 70):
        up_and_down = b"[" * 40 + b",".join([b"[" * width + b"]" * width] * 9) + b"]" * 40
        assert [is_deeper(up_and_down, 40 + width + offset) for offset in (-1, 0)] == [True, False]


def made(chance: random.Random, levels: int) -> Any:
    kind = chance.random()
    if levels <= 0 or kind < 0.2:
        return chance.choice([1, None, "", '"', "\\", "[[[", 'a"[\\"', '\\\\"]', "}}", "é["])
    inner = [made(chance, levels - 1) for _ in range(chance.choice([0, 1, 1, 1, 2]))]
    return (
        inner if kind < 0.6 else {f"{chance.choice(['a', '[', chr(34), chr(92)])}{n}": v for n, v in enumerate(inner)}
    )


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


def test_a_batch_of_very_many_unreadable_events_is_one_dead_letter() -> None:
    messages, letters, _ = wire.decode(b"[" + b",".join([b"1"] * (MOST_APART + 1)) + b"]")
    assert (messages, len(letters)) == ([], 1)
    assert letters[0].reason == "expected at most 1,000 events in a batch, found 1,001, of which some cannot be read"


def test_an_unreadable_batch_of_status_events_is_one_message() -> None:
    body = b"[" + b",".join([b"1"] * 1_001) + b"]"
    assert unpacked(body) == [body]


def test_a_refusal_does_not_repeat_all_that_came() -> None:
    huge = "x" * SIZE
    _, (letter,), _ = wire.decode(with_data(b"1", outcome=huge))
    assert len(letter.reason) <= 2_000
    with pytest.raises(Refused) as refused:
        decode_event(json.dumps({"id": "1", "source": "s", "type": "t", "specversion": huge}).encode())
    assert len(str(refused.value)) < 2_000
    assert len(excerpt(json.dumps({"title": huge}).encode())) == 2_000
