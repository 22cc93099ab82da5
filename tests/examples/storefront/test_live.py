"""The live part of an order's page, as a browser's EventSource would read it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from examples.shop.storefront import following
from examples.shop.storefront.storefront import Storefront
from tests.examples.storefront.customers import heard, order, until
from tests.examples.storefront.fakes import ALL_WELL, RECEIVED, FakeDoor, step
from tests.examples.storefront.site import Site

Message = dict[str, str]


@pytest.fixture
async def ada_there(site: Site) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=site.url, trust_env=False, timeout=10) as ada:
        await order(ada)
        yield ada


@asynccontextmanager
async def following_order(
    ada: httpx.AsyncClient, query: str = "", **headers: str
) -> AsyncIterator[AsyncIterator[Message]]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    async with asyncio.timeout(20), ada.stream("GET", f"/orders/order-01/live{query}", headers=sent) as response:
        assert response.status_code == 200 and response.headers["content-type"].startswith("text/event-stream")
        yield messages(response)


async def messages(response: httpx.Response) -> AsyncIterator[Message]:
    message: Message = {}
    async for line in response.aiter_lines():
        name, _, value = line.partition(":")
        if line:
            message[name] = message.get(name, "") + value.strip()
        else:
            yield message
            message = {}


async def test_streams_new_events_and_then_the_end(
    ada_there: httpx.AsyncClient, storefront: Storefront, door: FakeDoor
) -> None:
    async with following_order(ada_there) as told:
        assert await anext(told) == {"retry": "1000"}
        await heard(storefront, door, "order-01", RECEIVED)
        message = await anext(told)
        assert (message["event"], message["id"]) == ("status", "1")
        assert "Your order is with us" in message["data"]
        await heard(storefront, door, "order-01", *ALL_WELL[1:])
        async for message in told:
            last = message
            if message["event"] == "status":
                html = message["data"]
        assert last == {"event": "end", "data": ""}
        assert "On its way to you" in html and "tracking parcel-000001" in html


async def test_begins_with_what_the_page_does_not_know(
    ada_there: httpx.AsyncClient, storefront: Storefront, door: FakeDoor
) -> None:
    await heard(storefront, door, "order-01", *ALL_WELL[:3])
    for query, headers, first in (
        ("?after=2", {}, "3"),
        ("?after=0", {"Last_Event_ID": "2"}, "3"),
        ("?after=much", {}, "3"),
        ("?after=3", {}, "4"),
        ("?after=0", {"Last_Event_ID": "4"}, "5"),
    ):
        async with following_order(ada_there, query, **headers) as told:
            await anext(told)
            if first > "3":
                await heard(storefront, door, "order-01", step("stock.reserve"))
            assert (await anext(told))["id"] == first


async def test_a_finished_order_is_streamed_at_once(
    ada_there: httpx.AsyncClient, storefront: Storefront, door: FakeDoor
) -> None:
    await heard(storefront, door, "order-01", *ALL_WELL)
    async with following_order(ada_there, "?after=9") as told:
        assert [message async for message in told] == [{"retry": "1000"}, {"event": "end", "data": ""}]
    page = (await ada_there.get("/orders/order-01")).text
    assert "live.js" not in page and "refresh" not in page


async def test_the_page_of_a_new_order_waits_a_moment_for_the_first_event(
    ada_there: httpx.AsyncClient, storefront: Storefront, door: FakeDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "FIRST_WORD_SECONDS", 10)
    page = asyncio.create_task(ada_there.get("/orders/order-01"))
    await until(ada_there, lambda: storefront.bell.listeners > 0)
    door.tell("order-01", "request.received")
    assert 'data-sequence="1"' in (await page).text
    assert 'data-sequence="1"' in (await ada_there.get("/orders/order-01")).text, "what is known is shown at once"


async def test_the_page_goes_on_without_scripts_too(ada_there: httpx.AsyncClient) -> None:
    page = (await ada_there.get("/orders/order-01")).text
    assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in page
    assert 'aria-live="polite" data-live="/orders/order-01/live" data-sequence="0"' in page


async def test_a_silent_stream_shows_that_it_lives(
    ada_there: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "HEARTBEAT_SECONDS", 0)
    async with following_order(ada_there) as told:
        await anext(told)
        assert await anext(told) == {"": "still here"}


async def test_a_closed_stream_is_forgotten(ada_there: httpx.AsyncClient, storefront: Storefront) -> None:
    async with following_order(ada_there) as told:
        await anext(told)
        assert storefront.bell.listeners == 1
    await until(ada_there, lambda: not storefront.bell.listeners)


async def test_no_more_pages_than_can_be_served(ada_there: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "MOST_STREAMS", 1)
    async with following_order(ada_there) as told:
        await anext(told)
        assert (await ada_there.get("/orders/order-01/live")).status_code == 503


async def test_an_open_stream_does_not_hold_up_the_end(storefront: Storefront, door: FakeDoor) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=10) as ada:
        async with Site(storefront).serving() as site:
            ada.base_url = httpx.URL(site.url)
            await order(ada)
            stream = ada.stream("GET", "/orders/order-01/live")
            response = await stream.__aenter__()
            told = messages(response)
            await anext(told)
        assert [message async for message in told] == []
        assert site.force_exit is False and not site.server_state.tasks
        await stream.__aexit__(None, None, None)
