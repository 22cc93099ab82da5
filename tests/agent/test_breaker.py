from __future__ import annotations

import pytest

from stepward.agent.protection.circuit_breaker import Breaker, BreakerState
from stepward.policies import CircuitBreaker


@pytest.fixture
def breaker() -> Breaker:
    return Breaker(CircuitBreaker(failures=3, reset_after=10))


def opened(breaker: Breaker, now: float = 0.0) -> Breaker:
    assert [breaker.failed(now) for _ in range(3)] == [False, False, True]
    return breaker


def test_it_opens_after_failures_in_a_row(breaker: Breaker) -> None:
    breaker.failed(0)
    breaker.failed(0)
    breaker.succeeded()
    breaker.failed(0)
    breaker.failed(0)
    assert breaker.ask(0) == 0.0
    assert breaker.failed(0)
    assert breaker.state is BreakerState.OPEN


def test_while_open_it_gives_the_seconds_to_wait(breaker: Breaker) -> None:
    opened(breaker, now=5)
    assert breaker.ask(6) == 9.0
    assert breaker.ask(14.5) == 0.5


def test_one_call_finds_out_and_the_others_wait(breaker: Breaker) -> None:
    opened(breaker)
    assert breaker.ask(10) == 0.0
    assert breaker.state is BreakerState.HALF_OPEN
    assert breaker.ask(11) == 9.0


def test_its_success_closes(breaker: Breaker) -> None:
    opened(breaker).ask(10)
    assert breaker.succeeded()
    assert breaker.state is BreakerState.CLOSED
    assert [breaker.failed(11), breaker.failed(11)] == [False, False]


def test_its_failure_opens_again_at_once(breaker: Breaker) -> None:
    opened(breaker).ask(10)
    assert breaker.failed(12)
    assert breaker.ask(13) == 9.0


def test_a_lost_one_is_replaced_when_its_lease_ends(breaker: Breaker) -> None:
    opened(breaker).ask(10)
    assert breaker.ask(19.5) == 0.5
    assert breaker.ask(20) == 0.0
    assert breaker.ask(20) == 10.0


def test_what_was_sent_before_it_opened_changes_nothing(breaker: Breaker) -> None:
    opened(breaker)
    assert not breaker.succeeded()
    assert not breaker.failed(9)
    assert breaker.ask(9.5) == 0.5


def test_others_open_it_and_close_it(breaker: Breaker) -> None:
    breaker.failed(0)
    breaker.failed(0)
    breaker.open(10)
    assert (breaker.state, breaker.wait(4)) == (BreakerState.OPEN, 6.0)
    breaker.close()
    assert (breaker.state, breaker.wait(4)) == (BreakerState.CLOSED, 0.0)
    assert [breaker.failed(4), breaker.failed(4)] == [False, False]


def test_reading_the_wait_begins_no_probe(breaker: Breaker) -> None:
    opened(breaker)
    assert breaker.wait(10) == 0.0
    assert breaker.state is BreakerState.OPEN
