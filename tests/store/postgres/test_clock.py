from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from stepward.model.records import Alert, Audit, InboxKind, Task
from stepward.store.contract import (
    Post,
    TaskExpiry,
)
from stepward.store.postgres import PostgresStore
from stepward.store.postgres.engine import notifier
from stepward.store.postgres.engine.clock import StoreClock
from tests.store.conformance.world import START, HandClock, scheduler
from tests.store.listing import listed
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers


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


@pytest.mark.parametrize("difference", [0.4, -0.4])
def test_a_small_difference_is_made_up_for_little_by_little_and_never_back(difference: float) -> None:
    hand = HandClock()
    clock = StoreClock(hand)
    clock.heard(5000.0, hand.boots)
    clock.heard(5000.0 + difference, hand.boots)
    shown = [clock.now()]
    for _ in range(10):
        hand.boots += 0.1
        shown.append(clock.now())
    passed = [after - before for before, after in pairwise(shown)]
    assert shown[0] == 5000.0
    assert min(passed) > 0.04
    assert max(passed) < 0.16
    assert shown[-1] == pytest.approx(5001.0 + difference)
    assert clock.jumped() == 0.0


def test_answers_that_come_before_a_difference_is_made_up_for_neither_hasten_nor_undo_it() -> None:
    hand = HandClock()
    clock = StoreClock(hand)
    clock.heard(5000.0, hand.boots)
    clock.heard(4999.6, hand.boots)
    hand.boots += 0.4
    clock.heard(5000.0, hand.boots)
    assert clock.now() == pytest.approx(5000.2)
    hand.boots += 0.4
    assert clock.now() == pytest.approx(5000.4)


@pytest.mark.parametrize("seconds", [-60.0, 60.0])
def test_a_clock_that_is_set_is_followed_at_once_and_reported(seconds: float) -> None:
    hand = HandClock()
    clock = StoreClock(hand)
    clock.heard(5000.0, hand.boots)
    clock.heard(5000.0 + seconds, hand.boots)
    assert (clock.now(), clock.jumped()) == (5000.0 + seconds, seconds)


def test_an_answer_to_a_query_sent_before_a_jump_was_found_is_no_jump_back() -> None:
    hand = HandClock()
    clock = StoreClock(hand)
    clock.heard(5000.0, hand.boots)
    asked = hand.boots
    hand.boots += 1
    clock.heard(5061.0, hand.boots)
    clock.heard(5000.1, asked)
    assert (clock.now(), clock.jumped()) == (5061.0, 60.0)


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
    await store.scheduler.commit("s1", [], None)
    assert store.now() == pytest.approx(await _server(database), abs=2)


async def test_every_renewal_hears_of_the_servers_clock_and_grants_by_it(database: Database) -> None:
    hand = HandClock()
    store = await database.opened(clock=hand)
    await scheduler(store)
    hand.boots += 3600
    assert await store.host.renew(["s1"], 10.0) == {"s1"}
    now = await _server(database)
    assert store.now() == pytest.approx(now, abs=2)
    assert await _leases(database) == [pytest.approx(now + 10, abs=2)]


async def test_every_look_of_a_supervisor_hears_of_the_servers_clock(database: Database) -> None:
    hand = HandClock()
    store = await database.opened(clock=hand)
    hand.boots += 3600
    await store.supervisor.due()
    assert store.now() == pytest.approx(await _server(database), abs=2)
    assert store.host.jumped() == pytest.approx(-3600, abs=2)


async def test_who_only_submits_hears_of_the_servers_clock(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier, "LOOK_SECONDS", 3600.0)
    hand = HandClock()
    store = await database.opened(clock=hand)
    hand.boots += 3600
    await store.client.submit([Task(uid="a", id="a", workflow="order", version="1", created_at=store.now())])
    await _until_right(store, database)


async def test_who_does_nothing_asks_for_the_servers_clock(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier, "LOOK_SECONDS", 0.01)
    hand = HandClock()
    store = await database.opened(clock=hand)
    hand.boots += 3600
    await _until_right(store, database)


async def test_after_the_clock_went_back_leases_and_the_seat_last_no_longer_than_usual(database: Database) -> None:
    hand = HandClock()
    store = await database.opened(clock=hand)
    await store.supervisor.lead("s2", 20.0)
    hand.boots += 3600
    await scheduler(store)
    term = await store.supervisor.lead("s2", 20.0)
    assert term is not None
    await store.supervisor.due()
    assert await store.supervisor.forgive(term, 10.0)
    assert not await store.supervisor.forgive(term, 10.0)
    assert await store.supervisor.lead("s2", 20.0) == term
    now = await _server(database)
    assert await _leases(database) == [pytest.approx(now + 10, abs=2)]
    assert await database.rows("select expires_at from stepward_shop.leadership") == [(pytest.approx(now + 20, abs=2),)]


async def test_leases_that_a_small_jump_ahead_would_end_get_grace_though_others_last(database: Database) -> None:
    hand = HandClock()
    store = await database.opened(clock=hand)
    term = await store.supervisor.lead("s2", 20.0)
    assert term is not None
    await scheduler(store)
    await database.rows("update stepward_shop.instance set expires_at = expires_at - 8 returning id")
    await scheduler(store, "s3")
    # By a server's clock that is 5 s ahead of what it showed.
    hand.boots -= 5
    await store.supervisor.due()
    assert await store.supervisor.forgive(term, 10.0)
    assert await store.supervisor.fence(term) == []


async def test_a_task_that_a_jump_ahead_puts_past_its_own_deadline_gets_grace(database: Database) -> None:
    hand = HandClock()
    store = await database.opened(clock=hand)
    term = await store.supervisor.lead("s2", 20.0)
    assert term is not None
    begun = await _server(database)
    tasks = [
        Task(uid=id, id=id, workflow="order", version="1", created_at=begun, deadline=begun + seconds)
        for id, seconds in (("soon", -2.0), ("late", 3600.0))
    ]
    await store.client.submit(tasks)
    # By a server's clock that is five minutes ahead of what it showed.
    hand.boots -= 300
    assert (await store.supervisor.due()).tasks == 0
    before = store.now()
    assert await store.supervisor.forgive(term, 10.0)
    assert await store.supervisor.expired_tasks(9) == []
    found = {task.id: task.deadline for task in await listed(store)}
    soon, late = found["soon"], found["late"]
    assert soon is not None and before + 10 <= soon <= store.now() + 10
    assert late == pytest.approx(begun + 3600)


@pytest.mark.parametrize("seconds", [-60.0, 60.0])
async def test_a_pass_that_stood_still_while_the_clock_was_set_judges_no_more(
    database: Database, seconds: float
) -> None:
    hand = HandClock()
    store = await database.opened(clock=hand)
    term = await store.supervisor.lead("s2", 20.0)
    assert term is not None
    await scheduler(store, "living", lease=10.0)
    begun = store.now()
    await store.client.submit(
        [Task(uid="a", id="a", workflow="order", version="1", created_at=begun, deadline=begun + 30)]
    )
    await store.supervisor.due()
    # The pass stands still here; another server takes over, by whose clock all who live renew their leases.
    hand.boots += seconds
    await database.rows(f"update stepward_shop.instance set expires_at = {begun + 10} returning id")
    assert await store.supervisor.fence(term) == []
    expiry = Post(task="a", kind=InboxKind.FAIL)
    told = Audit(actor="supervisor/s2", act="expire", task="a")
    assert not await store.supervisor.expire_tasks(term, [TaskExpiry(task="a", task_id="a", post=expiry, audit=told)])
    assert not await store.supervisor.raise_alert(term, Alert(kind="odd", message="odd"))
    # The next pass hears of the clock, gives grace and goes on.
    assert await store.supervisor.lead("s2", 20.0) == term
    assert await store.supervisor.forgive(term, 10.0)
    assert await store.supervisor.fence(term) == []
    assert await store.supervisor.raise_alert(term, Alert(kind="odd", message="odd"))


async def _until_right(store: PostgresStore, database: Database) -> None:
    async with asyncio.timeout(30):
        while abs(store.now() - await _server(database)) > 2:
            pass


async def _leases(database: Database) -> list[float]:
    return [row[0] for row in await database.rows("select expires_at from stepward_shop.instance order by id")]


async def _server(database: Database) -> float:
    ((shown,),) = await database.rows("select extract(epoch from clock_timestamp())::float8")
    return float(shown)
