"""Rows of the store are carried to the broker in order, and deleted only when they are there."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from stepward.clock import Environment
from stepward.events import Event, Observers
from stepward.host.queues.row_forwarder import BATCH, MOST_REFUSALS, MOST_TOGETHER, TOGETHER_BYTES, Carrier, packs
from stepward.model.messages.status_events import StatusEventType, status_event
from stepward.model.records import Task
from stepward.store.contract import StoredMessage
from stepward.store.sqlite import SqliteStore
from tests.relay.outlet import Outlet
from tests.scheduler.world import VirtualClock
from tests.virtual import settle

QUEUE = "replies.shop.web"
POSTED = "submissions.shop.orders"
STORE = "5d0c9be1a7f24e6083b1"


def event(number: int, size: int = 0) -> bytes:
    return b'{"n":%d,"x":"%s"}' % (number, b"x" * size)


class Work:
    """A store's queue, an outlet, and who carries."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.outlet = Outlet()
        self.events: list[Event] = []
        self.is_ours = True

    def carrier(self, queue: str = QUEUE) -> Carrier:
        return Carrier(
            queue,
            self.store.messages,
            self.outlet,
            store=STORE,
            is_ours=lambda: self.is_ours,
            environment=Environment(VirtualClock(), random.Random(1)),
            observers=Observers(self.events.append),
        )

    async def put(self, *bodies: bytes, queue: str = QUEUE) -> None:
        await self.store.messages.put(queue, [(body, None) for body in bodies])

    async def left(self, queue: str = QUEUE) -> list[bytes]:
        return [row.body for row in await self.store.messages.read(queue, 0, 9999)]

    def names(self) -> list[str]:
        return [event.name for event in self.events]


@pytest.fixture
async def work(tmp_path: Path) -> AsyncIterator[Work]:
    store = SqliteStore(
        str(tmp_path / "shop.db"), app="shop", environment=Environment(VirtualClock(), random.Random(1))
    )
    await store.open()
    yield Work(store)
    await store.close()


async def test_a_status_event_leaves_with_the_identity_of_its_store(work: Work) -> None:
    task = Task(uid="uid-1", id="o1", workflow="fulfil", version="1", reply_to=QUEUE)
    written = status_event(task, StatusEventType.STARTED, 2, 0.0)
    await work.put(written)
    await work.carrier().carry_events()
    (told,) = work.outlet.told(QUEUE)
    assert msgspec.json.decode(told) == {"store": STORE, **msgspec.json.decode(written)}


async def test_events_go_in_order_in_few_messages_and_leave_the_store(work: Work) -> None:
    events = [event(number) for number in range(2 * BATCH + 3)]
    await work.put(*events)
    assert await work.carrier().carry_events() == len(events)
    assert work.outlet.told(QUEUE) == events
    assert max(len(sent) for _, sent in work.outlet.messages) == MOST_TOGETHER
    assert len(work.outlet.messages) == 2 * BATCH // MOST_TOGETHER + 1
    assert await work.left() == []


async def test_a_row_stays_until_the_broker_has_it(work: Work) -> None:
    await work.put(event(1))
    work.outlet.is_down = True
    carrying = asyncio.create_task(work.carrier().carry_events())
    await asyncio.sleep(600)
    assert await work.left() == [event(1)]
    assert work.names() == ["events.unavailable"], "an outage is told once"
    work.outlet.is_down = False
    assert await carrying == 1
    assert (work.outlet.told(QUEUE), await work.left()) == ([event(1)], [])


async def test_what_went_before_an_outage_does_not_go_again_after_it(work: Work) -> None:
    large = [event(number, TOGETHER_BYTES) for number in range(3)]
    await work.put(*large)
    work.outlet.seconds = 1.0
    carrying = asyncio.create_task(work.carrier().carry_events())
    await asyncio.sleep(1.5)
    carrying.cancel()
    await asyncio.wait({carrying})
    assert (work.outlet.told(QUEUE), await work.left()) == (large[:1], large[1:])


async def test_the_same_rows_have_the_same_message_id_in_every_process(work: Work) -> None:
    await work.put(event(1), event(2))
    rows = await work.store.messages.read(QUEUE, 0, 9)
    (one,), (other,) = list(packs(rows)), list(packs(rows))
    assert one.id == other.id
    assert one.id != next(packs(rows[:1])).id
    # Put back by an operator it is another row, and must not be taken for a double of the first.
    again = [StoredMessage(row.token + 9, row.body, 1) for row in rows]
    assert next(packs(again)).id != one.id


async def test_a_relay_that_lost_its_share_stops_before_the_next_message(work: Work) -> None:
    large = [event(number, TOGETHER_BYTES) for number in range(3)]
    await work.put(*large)

    def lose() -> None:
        work.is_ours = False

    work.outlet.before = lose
    assert await work.carrier().carry_events() == 1
    assert (work.outlet.told(QUEUE), await work.left()) == (large[:1], large[1:])


async def test_two_that_carry_the_same_leave_the_first_of_each_in_order(work: Work) -> None:
    """A relay that was paused continues with the rows that it had read: they arrive later, as duplicates."""
    events = [event(number, TOGETHER_BYTES) for number in range(20)]
    await work.put(*events)
    work.outlet.seconds = 1.0
    one = asyncio.create_task(work.carrier().carry_events())
    await asyncio.sleep(5.5)
    other = asyncio.create_task(work.carrier().carry_events())
    await asyncio.gather(one, other)
    told = work.outlet.told(QUEUE)
    assert list(dict.fromkeys(told)) == events
    assert len(told) > len(events)
    assert await work.left() == []


async def test_an_event_that_is_refused_five_times_is_an_operators_and_its_neighbours_go(work: Work) -> None:
    await work.put(event(1), event(2), event(3))
    work.outlet.refused = {event(2)}
    await work.carrier().carry_events()
    assert work.outlet.told(QUEUE) == [event(1), event(3)]
    assert work.outlet.refusals == 1 + MOST_REFUSALS, "once among the others"
    (letter,) = await work.store.operators.dead_letters(9)
    assert (letter.queue, letter.body) == (QUEUE, event(2))
    assert letter.reason.startswith("refused 5 times: queue: expected at most 9 bytes")
    assert [alert.kind for alert in await work.store.operators.alerts(9, True)] == ["dead_letter"]
    assert work.names() == ["events.dead_letter"]


async def test_an_event_that_is_taken_in_the_end_goes(work: Work) -> None:
    await work.put(event(1))
    work.outlet.refused = {event(1)}

    def relent() -> None:
        if work.outlet.refusals == MOST_REFUSALS - 1:
            work.outlet.refused = set()

    work.outlet.before = relent
    await work.carrier().carry_events()
    assert (work.outlet.told(QUEUE), await work.store.operators.dead_letters(9)) == ([event(1)], [])


async def test_a_broker_that_goes_while_it_refuses_buries_nothing(work: Work) -> None:
    await work.put(event(1))
    work.outlet.refused = {event(1)}

    def fail() -> None:
        work.outlet.is_down = work.outlet.refusals >= 1

    work.outlet.before = fail
    carrying = asyncio.create_task(work.carrier().carry_events())
    await asyncio.sleep(600)
    assert await work.left() == [event(1)]
    carrying.cancel()
    await asyncio.wait({carrying})


async def test_what_is_no_json_goes_as_it_is_and_spoils_no_other(work: Work) -> None:
    foreign = [b"\xff", b"{", b"[1]"]
    await work.put(event(1), *foreign, event(2))
    await work.carrier().carry_events()
    assert work.outlet.told(QUEUE) == [event(1), b"\xff", b"{", b"1", event(2)]


async def test_what_was_posted_goes_one_by_one_as_it_is(work: Work) -> None:
    await work.put(event(1), b"\xff", event(2), queue=POSTED)
    assert await work.carrier(POSTED).carry_posted() == 3
    assert work.outlet.messages == [(POSTED, [event(1)]), (POSTED, [b"\xff"]), (POSTED, [event(2)])]
    assert await work.left(POSTED) == []


async def test_many_share_what_was_posted(work: Work) -> None:
    sent = [event(number) for number in range(50)]
    await work.put(*sent, queue=POSTED)
    await asyncio.gather(*(work.carrier(POSTED).carry_posted() for _ in range(3)))
    await settle()
    assert sorted(work.outlet.told(POSTED)) == sorted(sent)
