"""The token bucket and the retry budget, with times passed in."""

from __future__ import annotations

from stepward.agent.budget import RetryBudget
from stepward.agent.rate import Rate, TokenBucket

FOREVER = float("inf")


def test_a_bucket_lets_a_burst_go_and_then_spaces_calls() -> None:
    bucket = TokenBucket(Rate(2, 1.0))
    assert [bucket.reserve(100.0, FOREVER) for _ in range(4)] == [0.0, 0.0, 0.5, 1.0]


def test_a_bucket_refills_up_to_its_size() -> None:
    bucket = TokenBucket(Rate(2, 1.0))
    for _ in range(2):
        bucket.reserve(100.0, FOREVER)
    assert [bucket.reserve(200.0, FOREVER) for _ in range(3)] == [0.0, 0.0, 0.5]


def test_a_bucket_takes_nothing_for_who_cannot_wait() -> None:
    bucket = TokenBucket(Rate(1, 10.0))
    bucket.reserve(100.0, FOREVER)
    assert bucket.reserve(100.0, 105.0) is None
    assert bucket.reserve(100.0, FOREVER) == 10.0


def test_a_clock_that_steps_back_refills_nothing() -> None:
    bucket = TokenBucket(Rate(1, 10.0))
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
