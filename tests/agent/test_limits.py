"""The token bucket and the retry budget, with times passed in."""

from __future__ import annotations

from stepward.agent.protection.circuit_breaker import RetryBudget
from stepward.agent.protection.rate_limit import TokenBucket
from stepward.model.limits.rate import RateLimit

FOREVER = float("inf")


def test_a_bucket_lets_a_burst_go_and_then_spaces_calls() -> None:
    bucket = TokenBucket(RateLimit(2, 1.0))
    assert [bucket.reserve(100.0, FOREVER) for _ in range(4)] == [0.0, 0.0, 0.5, 1.0]


def test_a_bucket_refills_up_to_its_size() -> None:
    bucket = TokenBucket(RateLimit(2, 1.0))
    for _ in range(2):
        bucket.reserve(100.0, FOREVER)
    assert [bucket.reserve(200.0, FOREVER) for _ in range(3)] == [0.0, 0.0, 0.5]


def test_a_bucket_takes_nothing_for_who_cannot_wait() -> None:
    bucket = TokenBucket(RateLimit(1, 10.0))
    bucket.reserve(100.0, FOREVER)
    assert bucket.reserve(100.0, 105.0) is None
    assert bucket.reserve(100.0, FOREVER) == 10.0


def test_a_clock_that_steps_back_refills_nothing() -> None:
    bucket = TokenBucket(RateLimit(1, 10.0))
    bucket.reserve(100.0, FOREVER)
    assert bucket.reserve(50.0, FOREVER) == 10.0


def test_ten_retries_are_always_allowed_in_ten_seconds() -> None:
    budget = RetryBudget()
    assert sum(budget.spend(0.0) for _ in range(50)) == 10
    assert sum(budget.spend(5.0) for _ in range(50)) == 5


def test_successes_earn_a_tenth_of_a_retry_each() -> None:
    budget = RetryBudget()
    for _ in range(205):
        budget.succeeded()
    assert sum(budget.spend(0.0) for _ in range(100)) == 30


def test_what_is_earned_is_bounded() -> None:
    budget = RetryBudget()
    for _ in range(100_000):
        budget.succeeded()
    assert sum(budget.spend(0.0) for _ in range(1000)) <= 111


def test_a_part_of_a_bucket_is_a_part_of_its_size_and_of_its_rate() -> None:
    bucket = TokenBucket(RateLimit(4, 1.0))
    bucket.divide(2, 100.0, returned=0)
    assert [bucket.reserve(100.0, FOREVER) for _ in range(4)] == [0.0, 0.0, 0.5, 1.0]


def test_a_part_smaller_than_a_token_makes_the_first_call_wait() -> None:
    bucket = TokenBucket(RateLimit(1, 1.0))
    bucket.divide(4, 100.0, returned=0)
    assert bucket.reserve(100.0, FOREVER) == 3.0


def test_what_was_reserved_and_is_not_used_after_all_is_there_again() -> None:
    bucket = TokenBucket(RateLimit(2, 1.0))
    reserved = [bucket.reserve(100.0, FOREVER) for _ in range(5)]
    assert reserved == [0.0, 0.0, 0.5, 1.0, 1.5]
    bucket.divide(2, 100.0, returned=3)
    assert [bucket.reserve(100.0, FOREVER) for _ in range(3)] == [1.0, 2.0, 3.0]
    bucket.put_back()
    assert bucket.reserve(100.0, FOREVER) == 3.0


def test_as_many_parts_as_before_change_nothing() -> None:
    bucket = TokenBucket(RateLimit(2, 1.0))
    assert [bucket.is_divided(parts) for parts in (0, 1, 2)] == [False, False, True]
