"""Policies: what they refuse, how delays grow, and that the store's form says the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepward.errors import DeclarationError, InvalidDuration, InvalidPayload
from stepward.policies import (
    Backoff,
    CircuitBreaker,
    LastRung,
    LongWait,
    Retry,
    Supervision,
    grown,
    ladder_text,
)

durations = st.floats(min_value=0.001, max_value=1e6)
last_rungs: st.SearchStrategy[LastRung] = st.sampled_from(["alert", "undo", "raise"])
ladders: st.SearchStrategy[LastRung | LongWait] = st.recursive(
    last_rungs,
    lambda rungs: st.builds(LongWait, durations, times=st.integers(1, 10_000), then=rungs),
    max_leaves=5,
)
backoffs = st.builds(Backoff, durations, factor=st.floats(1.0, 1000.0), maximum=durations)
policies = st.builds(Supervision, threshold=st.integers(0, 10_000), backoff=backoffs, then=ladders)


@given(policies)
def test_a_policy_reads_back_from_its_stored_form(policy: Supervision) -> None:
    read = Supervision.from_json(policy.to_json())
    assert read == policy
    assert read.to_json() == policy.to_json()
    assert read.last == policy.last


def test_policies_that_wait_alike_are_equal_however_they_are_written() -> None:
    assert Backoff("60s") == Backoff("1m")
    assert hash(Supervision(then=LongWait("1h"))) == hash(Supervision(then=LongWait(3600)))
    assert Backoff("60s") != Backoff("61s")
    assert LongWait("1h") != LongWait("2h")
    assert Retry(4, initial="1s") != Retry(4, initial="2s")
    assert CircuitBreaker(5, "1s") != CircuitBreaker(5, "2s")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Retry(attempts=0),
        lambda: Retry(attempts=1001),
        lambda: Retry(attempts=True),
        lambda: Retry(attempts="4"),  # type: ignore[arg-type]
        lambda: Retry(attempts=2.5),  # type: ignore[arg-type]
        lambda: Retry(factor=0.99),
        lambda: Retry(factor=1000.1),
        lambda: Retry(factor=math.nan),
        lambda: Retry(factor="2"),  # type: ignore[arg-type]
        lambda: Backoff(factor=math.inf),
        lambda: CircuitBreaker(failures=0),
        lambda: CircuitBreaker(failures=1_000_001),
        lambda: LongWait("1h", times=0),
        lambda: LongWait("1h", times=10_001),
        lambda: LongWait("1h", then="retry"),  # type: ignore[arg-type]
        lambda: Supervision(threshold=-1),
        lambda: Supervision(threshold=10_001),
        lambda: Supervision(threshold=2.5),  # type: ignore[arg-type]
        lambda: Supervision(backoff="1s"),  # type: ignore[arg-type]
        lambda: Supervision(then=None),  # type: ignore[arg-type]
    ],
)
def test_an_invalid_policy_is_refused_where_it_is_declared(make: Callable[[], object]) -> None:
    with pytest.raises(DeclarationError, match="expected"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Backoff("-1s"),
        lambda: Retry(maximum="soon"),
        lambda: CircuitBreaker(reset_after=0),
        lambda: LongWait(0),
        lambda: LongWait(math.nan),
    ],
)
def test_bad_durations_are_refused_by_the_name_of_their_field(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidDuration, match=r"^(Backoff|Retry|CircuitBreaker|LongWait)\."):
        make()


def test_limits_themselves_are_allowed() -> None:
    Retry(attempts=1000, factor=1000)
    Retry(attempts=1, factor=1.0, initial=0, maximum=0)
    LongWait("1h", times=10_000)
    Supervision(threshold=0)
    Supervision(threshold=10_000)


def test_a_ladder_has_at_most_twenty_rungs() -> None:
    ladder: LastRung | LongWait = "alert"
    for _ in range(19):
        ladder = LongWait("1h", then=ladder)
    assert Supervision.from_json(Supervision(then=ladder).to_json()).then == ladder
    with pytest.raises(DeclarationError, match="at most 20 rungs, found 21"):
        LongWait("1h", then=ladder)


@given(st.floats(0, 1e6), st.floats(1, 1000), st.floats(0, 1e6), st.integers(1, 10_000))
def test_delays_grow_up_to_their_maximum_and_never_overflow(
    initial: float, factor: float, maximum: float, failures: int
) -> None:
    delay = grown(initial, factor, maximum, failures)
    assert 0 <= delay <= maximum
    assert delay <= grown(initial, factor, maximum, failures + 1)


def test_delays_double_from_the_first_failure() -> None:
    assert [Backoff("1s", maximum="5s").delay(n) for n in (1, 2, 3, 4, 5)] == [1, 2, 4, 5, 5]


def test_jitter_draws_from_zero_to_the_whole_delay() -> None:
    assert [Retry(initial="1s").delay(2, chance) for chance in (0.0, 0.25, 1.0)] == [0, 0.5, 2]
    assert Retry(initial="1s", jitter=False).delay(2, 0.25) == 2


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"[]", b"null", b"{}", b'{"threshold":1}',
        b'{"threshold":"1","backoff":[1,2,3],"then":"alert"}',
        b'{"threshold":1,"backoff":[1,2],"then":"alert"}', b'{"threshold":1,"backoff":7,"then":"alert"}',
        b'{"threshold":1,"backoff":[1,2,3],"then":"explode"}', b'{"threshold":1,"backoff":[1,2,3],"then":{}}',
        b"{\"then\":" + b"[" * 99 + b"]" * 99 + b"}",
        b'{"threshold":1,"backoff":[1,2,3],"then":' + b'{"then":' * 100_000 + b'"alert"' + b"}" * 100_001,
    ],
)  # fmt: skip
def test_a_damaged_policy_is_reported_as_such(data: bytes) -> None:
    with pytest.raises(InvalidPayload, match="supervision policy: expected"):
        Supervision.from_json(data)


def test_the_last_rung_lies_below_all_waits() -> None:
    ladder = LongWait("1h", times=3, then=LongWait("1d", times=2, then="undo"))
    assert Supervision(then=ladder).last == "undo"
    assert ladder_text(ladder) == "wait 1h up to 3 times, then wait 1d up to 2 times, then undo"


def test_policies_are_values() -> None:
    policy: Any = Supervision()
    with pytest.raises(AttributeError):
        policy.threshold = 4
