"""What a reader keeps of a response queue until it is settled."""

from __future__ import annotations

import pytest

from stepward.transport.queues.response_log import ResponseLog, can_share, packed, unpacked


def filled(*bodies: bytes) -> ResponseLog[str]:
    ledger: ResponseLog[str] = ResponseLog()
    for number, body in enumerate(bodies, 1):
        ledger.add(f"m{number}", f"h{number}", body)
    return ledger


def bodies(ledger: ResponseLog[str], after: int = 0, limit: int = 99) -> list[bytes]:
    return [given.body for given in ledger.follows(after, limit)]


def test_events_that_share_a_message_have_tokens_of_their_own() -> None:
    ledger = filled(b'[{"a":1},{"a":2}]', b"{}")
    tokens = [given.token for given in ledger.follows(0, 9)]
    assert bodies(ledger) == [b'{"a":1}', b'{"a":2}', b"{}"]
    assert bodies(ledger, tokens[0], 1) == [b'{"a":2}']
    assert tokens == sorted(set(tokens))


def test_a_message_is_dealt_with_once_all_of_it_is() -> None:
    ledger = filled(b"[1,2]", b"3")
    first, second, third = [given.token for given in ledger.follows(0, 9)]
    assert ledger.first == "h1"
    assert ledger.settle([first, third]) == ["h2"]
    assert (ledger.first, bodies(ledger)) == ("h1", [b"2"])
    assert ledger.settle([second, second, 99]) == ["h1"]
    assert bodies(ledger) == []
    assert ResponseLog[str]().first is None


def test_a_redelivered_message_is_settled_by_its_new_handle() -> None:
    ledger = filled(b"[1,2]")
    first, second = [given.token for given in ledger.follows(0, 9)]
    ledger.settle([first])
    ledger.add("m1", "again", b"[1,2]")
    assert bodies(ledger) == [b"2"]
    assert ledger.settle([second]) == ["again"]


def test_forgotten_messages_come_again_under_other_tokens() -> None:
    ledger = filled(b"1")
    (before,) = ledger.follows(0, 9)
    ledger.clear()
    ledger.add("m1", "h1", b"1")
    (after,) = ledger.follows(0, 9)
    assert after.token > before.token
    assert (ledger.given(before.token), ledger.given(after.token)) == (None, after)
    assert ledger.settle([before.token]) == []


def test_an_observer_keeps_no_messages() -> None:
    ledger = filled(b"1", b"2", b"3")
    assert ledger.pass_over(2) == ["h1", "h2"]
    assert bodies(ledger) == [b"3"]


@pytest.mark.parametrize("body", [b"", b"{}", b"[", b"[1,", b"[]", b"\xff", b"[" * 100_000, b"[1]x"])
def test_a_body_that_is_no_batch_is_one_event(body: bytes) -> None:
    assert unpacked(body) == [body]


def test_a_batch_is_what_was_put_together() -> None:
    events = [b'{"a": "\xc3\xa9"}', b'{"b":[1,2]}', b"{}"]
    assert unpacked(packed(events)) == events


@pytest.mark.parametrize("body", [b"", b"[]", b"1", b"{", b"{}{}", b'{"a":}', b"\xff", b'{"a":' * 10_000])
def test_bodies_that_would_break_a_batch_are_detected(body: bytes) -> None:
    assert not can_share(body)
    assert can_share(b'{"a":{"b":[]}}')
