"""Status events as applications read them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stepward import Client, Queues
from stepward.client import ClientSession, client_on
from stepward.client.queues.events import BATCH, PAUSE, REFUSED_SECONDS, StatusEvents
from stepward.clock import Environment
from stepward.errors import QueueRefused, Refused, StoreUnusable, TransportError
from stepward.model.messages.status_events import StatusEventType, status_event
from stepward.model.records import Task
from stepward.store.sqlite import SqliteStore
from stepward.transport.queues.contract import QueuedMessage
from stepward.transport.store.store_queues import StoreQueues
from tests.scheduler.world import VirtualClock
from tests.transport.small_store import SmallStore
from tests.virtual import START, settle

QUEUE = "replies.shop.web"
MANY = 2 * BATCH + 3


def body(task: str, sequence: int, told: StatusEventType = StatusEventType.WAITING, **data: Any) -> bytes:
    row = Task(uid=f"uid-{task}", id=task, workflow="order", version="1", reply_to=QUEUE)
    return status_event(row, told, sequence, START, **data)


def environment() -> Environment:
    return Environment(VirtualClock(), random.Random(1))


class Shop:
    """An application's file, to which a Scheduler would write."""

    def __init__(self, folder: Path) -> None:
        self.address = f"sqlite:///{folder / 'shop.db'}"
        self._store = SqliteStore(str(folder / "shop.db"), app="shop", environment=environment())

    async def open(self) -> None:
        await self._store.open()

    async def close(self) -> None:
        await self._store.close()

    async def tell(self, *bodies: bytes) -> None:
        await self._store.messages.put(QUEUE, [(each, None) for each in bodies])

    async def buried(self) -> list[tuple[bytes, str]]:
        return [(letter.body, letter.reason) for letter in await self._store.operators.dead_letters(99)]

    def queues(self) -> Queues:
        return Queues(self.address, app="shop", environment=environment())


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    shop = Shop(tmp_path)
    await shop.open()
    yield shop
    await shop.close()


async def read(events: StatusEvents, count: int) -> list[tuple[str, int]]:
    return [(event.subject, event.sequence) for event in [await anext(events) for _ in range(count)]]


async def nothing_comes(events: StatusEvents, seconds: float = 5) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await anext(events)
    except TimeoutError:
        return True
    return False


async def test_an_event_is_read_as_it_was_written(shop: Shop) -> None:
    await shop.tell(body("a", 3, StatusEventType.STEP_COMPLETED, step="pay/1", name="pay"))
    async with shop.queues() as queues:
        event = await anext(queues.events(QUEUE))
    assert (event.id, event.type, event.subject, event.sequence) == ("uid-a/3", "stepward.step.completed", "a", 3)
    assert event.time == datetime.fromtimestamp(START, UTC)
    assert event.data == {"workflow": "order", "step": "pay/1", "name": "pay"}


async def test_events_come_in_order_however_many_there_are(shop: Shop) -> None:
    told = [(task, sequence) for sequence in range(1, MANY) for task in "ab"]
    await shop.tell(*(body(*each) for each in told))
    async with shop.queues() as queues:
        events = queues.events(QUEUE)
        assert await read(events, len(told)) == told
        await shop.tell(body("c", 1))
        assert await read(events, 1) == [("c", 1)]
        assert await nothing_comes(events)


@pytest.mark.parametrize("count", [1, BATCH, BATCH + 7, MANY])
async def test_a_new_reader_goes_on_with_all_that_was_not_dealt_with(shop: Shop, count: int) -> None:
    told = [("a", sequence) for sequence in range(1, MANY + 1)]
    await shop.tell(*(body(*each) for each in told))
    async with shop.queues() as queues:
        heard = await read(queues.events(QUEUE), count)
    async with shop.queues() as queues:
        events = queues.events(QUEUE)
        ((_, first),) = await read(events, 1)
        rest = await read(events, MANY - first)
    assert heard == told[:count]
    assert first <= count, "the last one was given, and nobody knows what became of it"
    assert rest == told[first:]


async def test_what_was_dealt_with_is_settled_when_the_next_is_asked_for(shop: Shop) -> None:
    await shop.tell(body("a", 1), body("a", 2))
    async with shop.queues() as queues:
        events = queues.events(QUEUE)
        await read(events, 2)
        assert await nothing_comes(events)
    async with shop.queues() as queues:
        assert await nothing_comes(queues.events(QUEUE))


async def test_readers_that_follow_one_another_leave_nothing_behind_but_the_last_event(shop: Shop) -> None:
    async with shop.queues() as queues:
        for number in range(1, 10, 2):
            await shop.tell(body("a", number), body("a", number + 1))
            heard = await read(queues.events(QUEUE), 2 if number == 1 else 3)
            assert heard[-2:] == [("a", number), ("a", number + 1)]
            assert len(heard) <= 3, "only what nobody asked to go on from comes again"
    async with shop.queues() as queues:
        assert await read(queues.events(QUEUE), 1) == [("a", 10)]


async def test_an_event_that_is_there_twice_is_given_once_and_both_are_settled(shop: Shop) -> None:
    """A relay that was paused may put behind newer ones what others have put long since."""
    await shop.tell(body("a", 1), body("a", 2), body("b", 1), body("a", 2), body("a", 1), body("a", 3))
    async with shop.queues() as queues:
        events = queues.events(QUEUE)
        assert await read(events, 4) == [("a", 1), ("a", 2), ("b", 1), ("a", 3)]
        await shop.tell(body("a", 2), body("b", 1), body("b", 2))
        assert await read(events, 1) == [("b", 2)]
        assert await nothing_comes(events)
    async with shop.queues() as queues:
        assert await nothing_comes(queues.events(QUEUE))


async def test_an_event_that_was_left_out_is_given_when_it_comes(shop: Shop) -> None:
    """An operator put it back from the dead letters."""
    await shop.tell(body("a", 1), body("a", 3), body("a", 2), body("a", 2), body("a", 4))
    async with shop.queues() as queues:
        assert await read(queues.events(QUEUE), 4) == [("a", 1), ("a", 3), ("a", 2), ("a", 4)]


async def test_queues_that_were_not_entered_say_so(shop: Shop) -> None:
    queues = shop.queues()
    for use in (queues.events, queues.watch):
        with pytest.raises(Refused, match="expected use within `async with Queues"):
            use(QUEUE)
    with pytest.raises(Refused, match="expected use within `async with Queues"):
        await queues.post("orders", None)


@pytest.mark.parametrize("app", ["", "a\nb", "shop.web", "x" * 101, None])
def test_queues_of_an_app_that_cannot_be_are_refused(app: Any) -> None:
    with pytest.raises(Refused, match="app: expected a name of 1 to 100"):
        Queues("sqlite:///stepward.db", app=app)


def test_queues_without_an_address_are_refused() -> None:
    address: Any = None
    with pytest.raises(Refused, match=r"expected an address such as sqlite:///stepward.db, found None"):
        Queues(address, app="shop")


async def test_a_reader_that_loses_patience_misses_nothing(shop: Shop) -> None:
    async with shop.queues() as queues:
        events = queues.events(QUEUE)
        assert await nothing_comes(events)
        await shop.tell(body("a", 1), body("a", 2))
        assert await read(events, 2) == [("a", 1), ("a", 2)]


async def test_the_client_reads_as_well(shop: Shop) -> None:
    await shop.tell(body("a", 1))
    async with client_on(ClientSession(shop.address, app="shop", environment=environment())) as client:
        assert await read(client.events(QUEUE), 1) == [("a", 1)]


# ---------------------------------------------------------------- what is no event

GOOD = body("a", 1)


@pytest.mark.parametrize(
    ("foreign", "reason"),
    [
        (b"", "expected a CloudEvent"),
        (b"{", "expected a CloudEvent"),
        (b"\xff\xfe", "expected a CloudEvent"),
        (b"[" * 100_000, "expected a CloudEvent"),
        (b"null", "expected a CloudEvent"),
        (GOOD.replace(b'"1.0"', b'"0.3"'), "expected a CloudEvent"),
        (GOOD.replace(b'"type":"stepward.task.waiting",', b""), "type"),
        (GOOD.replace(b'"uid-a/1"', b'""'), "as its id"),
        (GOOD.replace(b'"0000000001"', b'"first"'), "expected a sequence, found 'first'"),
        (GOOD.replace(b'"sequence":"0000000001",', b""), "expected a sequence, found None"),
        (GOOD.replace(b'{"workflow":"order"}', b"[]"), "expected data that fits"),
    ],
)
async def test_what_is_no_event_is_buried_and_stops_nothing(shop: Shop, foreign: bytes, reason: str) -> None:
    assert foreign != GOOD
    await shop.tell(GOOD, foreign, body("a", 2))
    async with shop.queues() as queues:
        assert await read(queues.events(QUEUE), 2) == [("a", 1), ("a", 2)]
    ((dead, why),) = await shop.buried()
    assert dead == foreign
    assert reason in why


async def test_after_foreign_bodies_alone_the_rest_is_looked_for_at_once(shop: Shop) -> None:
    await shop.tell(*[b"foreign"] * BATCH, body("a", 1))
    async with shop.queues() as queues:
        assert await read(queues.events(QUEUE), 1) == [("a", 1)]
    assert asyncio.get_running_loop().time() < START + 1
    assert len(await shop.buried()) == 99


# ---------------------------------------------------------------- outages


class Small:
    """A reader on a store that can be set to unavailable."""

    def __init__(self) -> None:
        self.store = SmallStore(asyncio.get_running_loop().time)
        self.queues = StoreQueues(self.store, poll=1.0)
        self.events = StatusEvents(self.queues, QUEUE)

    async def tell(self, *bodies: bytes) -> None:
        await self.queues.put(QUEUE, [(each, None) for each in bodies])

    @property
    def left(self) -> list[bytes]:
        return [row.body for row in self.store.rows]


async def test_a_reader_waits_while_the_store_is_away() -> None:
    small = Small()
    await small.tell(body("a", 1))
    small.store.is_down = True
    reading = asyncio.create_task(read(small.events, 1))
    await asyncio.sleep(60)
    assert not reading.done()
    small.store.is_down = False
    assert await reading == [("a", 1)]


async def test_an_outage_while_it_waits_for_more_loses_nothing() -> None:
    small = Small()
    await small.tell(body("a", 1))
    await read(small.events, 1)
    reading = asyncio.create_task(read(small.events, 2))
    await settle()
    small.store.is_down = True
    await asyncio.sleep(30)
    small.store.is_down = False
    await small.tell(body("a", 2), body("a", 3))
    assert await reading == [("a", 2), ("a", 3)]
    assert small.left == [body("a", 2), body("a", 3)]


async def test_what_could_not_be_settled_is_settled_after_the_outage() -> None:
    small = Small()
    await small.tell(body("a", 1), body("a", 2))
    await read(small.events, 2)
    small.store.is_down = True
    reading = asyncio.create_task(read(small.events, 1))
    await asyncio.sleep(10)
    small.store.is_down = False
    await small.tell(body("a", 3))
    assert await reading == [("a", 3)]
    assert small.left == [body("a", 3)]


async def test_what_could_not_be_buried_is_buried_after_the_outage() -> None:
    small = Small()
    await small.tell(b"foreign", body("a", 1))
    look = small.store.read

    async def last_look(queue: str, after: int, limit: int, reader: str = "") -> Any:
        small.store.read = look  # type: ignore[method-assign]
        found = await look(queue, after, limit, reader)
        small.store.is_down = True
        return found

    small.store.read = last_look  # type: ignore[method-assign]
    reading = asyncio.create_task(read(small.events, 1))
    await asyncio.sleep(10)
    small.store.is_down = False
    assert await reading == [("a", 1)]
    assert [dead for dead, _ in small.store.buried] == [b"foreign"]


@pytest.mark.parametrize("is_down", [False, True])
async def test_a_reader_of_closed_queues_ends(is_down: bool) -> None:
    small = Small()
    small.store.is_down = is_down
    reading = asyncio.create_task(read(small.events, 1))
    await settle()
    await small.queues.close()
    with pytest.raises(TransportError, match="found it closed"):
        await reading


class RefusedQueues:
    """Queues that a broker refuses so many times, and that have one event then."""

    closed = False

    def __init__(self, times: int) -> None:
        self.times = times

    async def read(self, queue: str, after: int, limit: int) -> list[QueuedMessage]:
        if self.times:
            self.times -= 1
            raise QueueRefused("queue: expected it read, found no permission; give it", reason="no permission")
        return [QueuedMessage(1, body("a", 1), 0)]


async def test_a_lasting_refusal_is_raised_at_the_reader_which_may_continue() -> None:
    began_at = asyncio.get_running_loop().time()
    queues: Any = RefusedQueues(int(REFUSED_SECONDS / PAUSE) + 1)
    events = StatusEvents(queues, QUEUE)
    with pytest.raises(QueueRefused, match="no permission"):
        await anext(events)
    assert asyncio.get_running_loop().time() - began_at == pytest.approx(REFUSED_SECONDS, abs=PAUSE)
    assert (await anext(events)).subject == "a"


async def test_a_refusal_that_passes_is_waited_for() -> None:
    queues: Any = RefusedQueues(int(REFUSED_SECONDS / PAUSE))
    assert (await anext(StatusEvents(queues, QUEUE))).subject == "a"


def _client(address: str, **options: Any) -> Client:
    return client_on(ClientSession(address, **options))


@pytest.mark.parametrize("door", [Queues, _client])
async def test_a_reader_ends_when_its_door_is_closed(shop: Shop, door: Any) -> None:
    async with door(shop.address, app="shop", environment=environment()) as opened:
        reading = asyncio.create_task(read(opened.events(QUEUE), 1))
        await settle()
    with pytest.raises(TransportError, match="found it closed"):
        await reading


# ---------------------------------------------------------------- whose queue it is

FOREIGN_NAMES = [
    "web",
    "replies.shop.",
    "replies.shop",
    "replies.blog.web",
    "replies.shopping.web",
    "Replies.shop.web",
    " replies.shop.web",
    "replies.shop.web\n",
    "replies.shop.a b",
    "replies.shop.é",
    "replies.shop." + "a" * 101,
    "submissions.shop.orders",
    "",
    5,
]


@pytest.mark.parametrize("name", FOREIGN_NAMES)
async def test_a_queue_that_is_not_the_apps_own_is_refused(shop: Shop, name: Any) -> None:
    session = ClientSession(shop.address, app="shop", environment=environment())
    async with client_on(session) as client, shop.queues() as queues:
        for events in (client.events, queues.events):
            with pytest.raises(Refused, match=r"expected replies\.shop\.NAME, found"):
                events(name)
        with pytest.raises(Refused, match=r"expected replies\.shop\.NAME, found"):
            await queues.post("orders", {}, reply_to=name)


@pytest.mark.parametrize(
    "name", ["replies.shop.web", "replies.shop.a", "replies.shop.A-b_c.9", "replies.shop." + "a" * 100]
)
async def test_a_queue_of_the_apps_own_may_have_any_name(shop: Shop, name: str) -> None:
    async with shop.queues() as queues:
        assert await nothing_comes(queues.events(name))


async def test_another_apps_queues_are_refused(shop: Shop) -> None:
    with pytest.raises(StoreUnusable, match="expected the app 'blog', found the store of 'shop'"):
        async with Queues(shop.address, app="blog", environment=environment()):
            pytest.fail("opened")
