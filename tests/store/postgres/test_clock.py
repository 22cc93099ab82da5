from __future__ import annotations

import pytest

from stepward.store.postgres.clock import StoreClock
from tests.store.conformance.world import START, HandClock, scheduler
from tests.store.postgres.worlds import Database


def test_before_the_first_answer_the_hosts_clock_will_do() -> None:
    assert StoreClock(HandClock()).now() == START


def test_an_answer_lies_between_question_and_hearing() -> None:
    hand = HandClock()
    clock = StoreClock(hand)
    hand.boots += 2
    clock.heard(5000.0, hand.boots - 2)
    assert clock.now() == 5001.0


def test_an_estimate_that_an_answer_allows_stays() -> None:
    hand = HandClock()
    clock = StoreClock(hand)
    clock.heard(5000.0, hand.boots)
    hand.boots += 1
    clock.heard(5000.9, hand.boots - 0.2)
    assert clock.now() == 5001.0


@pytest.mark.parametrize(("server", "expected"), [(4990.0, 4990.2), (5010.0, 5010.0)])
def test_another_servers_clock_is_followed_by_as_little_as_will_do(server: float, expected: float) -> None:
    hand = HandClock()
    clock = StoreClock(hand)
    clock.heard(5000.0, hand.boots)
    hand.boots += 0.2
    clock.heard(server, hand.boots - 0.2)
    assert clock.now() == pytest.approx(expected)


async def test_the_servers_clock_decides_whatever_the_hosts_shows(database: Database) -> None:
    hand = HandClock()
    hand.walls = 1_000_000_000.0
    one, two = await database.opened(clock=hand), await database.opened()
    ((server,),) = await database.rows("select extract(epoch from clock_timestamp())::float8")
    assert one.now() == pytest.approx(server, abs=2)
    assert two.now() == pytest.approx(server, abs=2)


async def test_every_commit_hears_of_the_servers_clock(database: Database) -> None:
    hand = HandClock()
    store = await database.opened(clock=hand)
    await scheduler(store)
    hand.boots += 3600
    assert store.now() > (await _server(database)) + 3000
    await store.commit("s1", [], None)
    assert store.now() == pytest.approx(await _server(database), abs=2)


async def _server(database: Database) -> float:
    ((shown,),) = await database.rows("select extract(epoch from clock_timestamp())::float8")
    return float(shown)
