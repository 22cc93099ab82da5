"""A rate as a bucket of tokens that is kept as one instant."""

from __future__ import annotations

import random
from typing import Any

import pytest

from stepward.errors import DeclarationError, InvalidDuration
from stepward.model.limits.rate import RateLimit
from stepward.policies import Limit


def starts(rate: RateLimit, instants: list[float]) -> list[float]:
    """Those of the instants at which a start finds a token."""
    full_at, found = instants[0], []
    for now in instants:
        if rate.tokens(full_at, now):
            full_at = rate.taken(full_at, now, 1)
            found.append(now)
    return found


def test_a_full_bucket_has_all_tokens_and_refills_one_by_one() -> None:
    rate = RateLimit(4, 2.0)
    assert [rate.tokens(at, 100.0) for at in (0.0, 100.0, 100.4, 100.5, 101.0, 102.0, 200.0)] == [4, 4, 3, 3, 2, 0, 0]


@pytest.mark.parametrize("seed", range(20))
def test_no_span_has_more_starts_than_a_full_bucket_and_what_is_refilled(seed: int) -> None:
    chance = random.Random(seed)
    rate = RateLimit(chance.randrange(1, 20), chance.choice((0.5, 1.0, 60.0)))
    instants = [1_800_000_000.0]
    for _ in range(2_000):
        instants.append(instants[-1] + chance.expovariate(3 / rate.interval))
    found = starts(rate, instants)
    for first in range(0, len(found), 7):
        for last in range(first, len(found), 11):
            most = rate.calls + (found[last] - found[first]) / rate.interval
            assert last - first + 1 <= most + 0.01


def test_steady_demand_gets_the_whole_rate() -> None:
    found = starts(RateLimit(10, 1.0), [number / 1000 for number in range(20_001)])
    assert len(found) == pytest.approx(10 + 200, abs=1)


def test_the_next_look_is_at_the_next_token_or_at_those_of_a_moment() -> None:
    slow, fast = RateLimit(2, 10.0), RateLimit(1000, 1.0)
    assert slow.next_at(slow.taken(100.0, 100.0, 2)) == 105.0
    assert fast.next_at(fast.taken(100.0, 100.0, 1000)) == pytest.approx(100.05)


@pytest.mark.parametrize("rate", ["0/s", "5", "fast", (0, "1s"), ("5", "1s"), (True, "1s"), 5, "5/0s", "9999999999/s"])
def test_what_is_no_rate_is_refused(rate: object) -> None:
    with pytest.raises((DeclarationError, InvalidDuration), match=r"Limit\.rate: expected"):
        Limit(rate=rate)  # type: ignore[arg-type]


def test_a_limit_bounds_something() -> None:
    assert Limit(rate="100/s").rate_limit == Limit(rate=(100, 1)).rate_limit == RateLimit(100, 1.0)
    assert Limit(3).rate_limit is None
    with pytest.raises(DeclarationError, match="expected concurrency=, rate= or both, found neither"):
        Limit()


@pytest.mark.parametrize("per", [5e-324, 1e-9, "0.0001s"])
def test_a_rate_of_less_than_a_millisecond_is_refused(per: Any) -> None:
    with pytest.raises(DeclarationError, match=r"Limit\.rate: expected a time of at least 1ms, found"):
        Limit(rate=(1_000_000, per))
    assert RateLimit.parse("1000000/1ms", "rate").interval == 1e-9
