"""Status events at the storefront: each is recorded once, and for good."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from examples.shop.storefront.records import Records
from examples.shop.storefront.server import serve
from examples.shop.storefront.storefront import Storefront
from examples.shop.storefront.web import build
from stepward import StatusEvent
from tests.examples.storefront.customers import heard, order
from tests.examples.storefront.fakes import ALL_WELL, RECEIVED, STARTED, FakeDoor, status_event, step


async def state(customer: httpx.AsyncClient) -> tuple[str, list[int]]:
    told = (await customer.get("/orders/order-01.json")).json()
    return told["state"], [event["sequence"] for event in told["events"]]


async def test_listens_to_its_private_queue(ada: httpx.AsyncClient, storefront: Storefront, door: FakeDoor) -> None:
    await order(ada)
    await heard(storefront, door, "order-01", RECEIVED, STARTED)
    assert door.heard_on == ["replies.orders.storefront-1"] == [door.posted[0].reply_to]
    assert await state(ada) == ("working", [1, 2])


async def test_a_repeated_event_counts_once(ada: httpx.AsyncClient, storefront: Storefront, door: FakeDoor) -> None:
    await order(ada)
    await heard(storefront, door, "order-01", *ALL_WELL[:4])
    reserved = status_event("order-01", 4, *ALL_WELL[3][:1], **ALL_WELL[3][1])
    door.tell_again(reserved)
    door.tell_again(reserved)
    await heard(storefront, door, "order-01", *ALL_WELL[4:5])
    assert await state(ada) == ("working", [1, 2, 3, 4, 5])
    assert len(door.dealt_with) >= 6


async def test_a_late_event_is_sorted_in(ada: httpx.AsyncClient, storefront: Storefront, door: FakeDoor) -> None:
    await order(ada)
    with storefront.bell.listening("order-01") as rung:
        for sequence, (name, data) in ((2, step("payment.charge")), (1, RECEIVED)):
            rung.clear()
            door.tell_again(status_event("order-01", sequence, name, **data))
            await rung.wait()
    assert await state(ada) == ("working", [1, 2])


async def test_an_event_is_written_down_before_the_next_is_asked_for(records: Records) -> None:
    asked: list[int] = []

    class Door(FakeDoor):
        async def events(self, queue: str) -> AsyncIterator[StatusEvent]:
            for sequence in (1, 2, 3):
                yield status_event("order-01", sequence, "request.received")
                asked.append(len(records.events("order-01")))

    storefront = Storefront(name="storefront-1", door=Door(), records=records)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(build(storefront, ["shop.test"])), base_url="http://shop.test"
    ) as ada:
        await order(ada)
    await storefront.listen()
    assert asked == [1, 2, 3]


async def test_events_of_foreign_orders_change_nothing(
    ada: httpx.AsyncClient, storefront: Storefront, door: FakeDoor
) -> None:
    await order(ada)
    door.tell("order-99", "request.received")
    await heard(storefront, door, "order-01", RECEIVED)
    assert (await ada.get("/orders/order-99")).status_code == 404
    assert await state(ada) == ("received", [1])


async def test_after_a_restart_everything_is_as_it_was_and_goes_on(tmp_path: Path) -> None:
    cookies = httpx.Cookies()
    for begin, (events, expected) in enumerate([(ALL_WELL[:5], "working"), (ALL_WELL[5:], "delivered")]):
        door = FakeDoor()
        with closing(Records(tmp_path / "storefront.db")) as records:
            storefront = Storefront(name="storefront-1", door=door, records=records)
            transport = httpx.ASGITransport(build(storefront, ["shop.test"]))
            async with httpx.AsyncClient(transport=transport, base_url="http://shop.test", cookies=cookies) as ada:
                if begin == 0:
                    await order(ada)
                    cookies = ada.cookies
                else:
                    assert await state(ada) == ("working", [1, 2, 3, 4, 5])
                listener = asyncio.create_task(storefront.listen())
                with storefront.bell.listening("order-01") as rung:
                    for at, (name, data) in enumerate(events, start=1 + 5 * begin):
                        rung.clear()
                        door.tell_again(status_event("order-01", at, name, **data))
                        await rung.wait()
                assert (await state(ada))[0] == expected
                listener.cancel()
                await asyncio.wait([listener])


async def test_an_event_that_cannot_be_stored_is_not_settled(records: Records, door: FakeDoor) -> None:
    storefront = Storefront(name="storefront-1", door=door, records=records)
    records.close()
    door.tell("order-01", "request.received")
    with pytest.raises(Exception, match="closed"):
        await storefront.listen()
    assert door.dealt_with == []


async def test_a_storefront_without_events_ends(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    class Deaf(FakeDoor):
        async def events(self, queue: str) -> AsyncIterator[StatusEvent]:
            nothing: tuple[StatusEvent, ...] = ()
            for event in nothing:
                yield event
            raise RuntimeError("the queue is gone")

    # The signals of the process that runs the tests are none of its business.
    monkeypatch.setattr(signal, "signal", lambda _number, _handler: None)
    with pytest.raises(RuntimeError, match="the queue is gone"):
        async with asyncio.timeout(30):
            await serve(Storefront(name="storefront-1", door=Deaf(), records=records), "127.0.0.1", 0)
