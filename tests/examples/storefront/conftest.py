"""A storefront in front of a door that leads nowhere, and customers at it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, closing
from pathlib import Path

import httpx
import pytest

from examples.shop.storefront.records import Records
from examples.shop.storefront.storefront import Storefront
from examples.shop.storefront.web import build
from tests.examples.storefront.fakes import FakeDoor
from tests.examples.storefront.site import Site

Visit = Callable[[], httpx.AsyncClient]


@pytest.fixture
def door() -> FakeDoor:
    return FakeDoor()


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    with closing(Records(tmp_path / "storefront.db")) as records:
        yield records


@pytest.fixture
async def storefront(door: FakeDoor, records: Records) -> AsyncIterator[Storefront]:
    """It listens all the time; what it could not deal with fails the test."""
    storefront = Storefront(name="storefront-1", door=door, records=records)
    listener = asyncio.create_task(storefront.listen())
    yield storefront
    listener.cancel()
    await asyncio.wait([listener])
    assert listener.cancelled() or listener.exception() is None


@pytest.fixture
async def visit(storefront: Storefront) -> AsyncIterator[Visit]:
    """Another customer, with a browser's memory for cookies."""
    app = build(storefront, ["shop.test"])
    async with AsyncExitStack() as stack:
        visitors: list[httpx.AsyncClient] = []

        def enter() -> httpx.AsyncClient:
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            visitors.append(httpx.AsyncClient(transport=transport, base_url="http://shop.test"))
            stack.push_async_callback(visitors[-1].aclose)
            return visitors[-1]

        yield enter


@pytest.fixture
def ada(visit: Visit) -> httpx.AsyncClient:
    return visit()


@pytest.fixture
async def site(storefront: Storefront) -> AsyncIterator[Site]:
    async with Site(storefront).serving() as site:
        yield site
