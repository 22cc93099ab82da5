"""Customers at the whole shop, each part of it a process: services, submission, Scheduler, Agents, Supervisor."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import expect

from examples.shop.processes.premises import Premises
from servers.keeper.process import Process
from tests.examples.storefront.browser import add_to_basket, browsing, buy, fill_checkout

pytestmark = [pytest.mark.servers, pytest.mark.faults, pytest.mark.asyncio(loop_scope="module")]

SETTINGS = {"STEPWARD_TRANSPORT": "store", "STEPWARD_SUPERVISOR_EVERY": "200ms", "STEPWARD_DRAIN": "1s"}
STAGES = ["Order received", "Goods put aside", "Payment taken", "Parcel booked"]


class Shop:
    """The premises, with the storefront that customers go to."""

    def __init__(self, premises: Premises, storefront: Process) -> None:
        self.premises = premises
        self.storefront = storefront

    async def did(self, service: str, order: str) -> list[str]:
        """What a service did for an order, by its own ledger."""
        return [
            effect["action"] for effect in await self.premises.services[service].ledger() if effect["order_id"] == order
        ]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shop(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shop]:
    folder: Path = tmp_path_factory.mktemp("shop")
    premises = Premises(folder, SETTINGS)
    storefront = premises.storefront()
    try:
        await premises.group.start(*premises.services.values())
        workers = (premises.worker(role, role) for role in ("submission", "scheduler", "agents", "supervisor"))
        await premises.group.start(*workers, storefront)
        yield Shop(premises, storefront)
    finally:
        await premises.group.stop()


async def test_browse_order_and_watch_it_reach_delivered(shop: Shop) -> None:
    async with browsing(shop.storefront.url) as context:
        page = await context.new_page()
        order = await buy(page, "kettle", 2)
        await expect(page.locator(".badge")).to_have_text("delivered")
        await expect(page.locator(".stage")).to_have_count(5)
        await expect(page.locator(".stage[data-mark=done]")).to_have_count(5)
        for name in STAGES:
            await expect(page.get_by_text(name)).to_be_visible()
        await expect(page.locator(".stage").last).to_contain_text("tracking parcel-")
        assert await shop.did("payment", order) == ["charge"]


async def test_payment_is_down_and_comes_back(shop: Shop) -> None:
    payment = shop.premises.services["payment"]
    await payment.put_faults([{"kind": "down", "action": "charge"}])
    async with browsing(shop.storefront.url) as context:
        page = await context.new_page()
        await page.goto("/products/teapot")
        await add_to_basket(page)
        await fill_checkout(page)
        await page.get_by_text("Wait patiently").click()
        await page.get_by_role("button", name="Order and pay").click()
        await expect(page.locator(".note")).to_have_text(
            "The payment service does not answer at the moment. Nothing is lost: we try again by ourselves."
        )
        await payment.put_faults([])
        await expect(page.locator(".badge")).to_have_text("delivered")


async def test_a_declined_card_undoes_everything(shop: Shop) -> None:
    payment = shop.premises.services["payment"]
    await payment.put_faults([{"kind": "declined", "action": "charge"}])
    async with browsing(shop.storefront.url) as context:
        page = await context.new_page()
        order = await buy(page)
        await expect(page.locator(".note")).to_have_text(
            "Your card was declined. Everything has been taken back; no money was taken."
        )
    assert await shop.did("stock", order) == ["reserve", "release"]
    assert await shop.did("payment", order) == []
    await payment.put_faults([])


async def test_the_page_outlives_the_storefront(shop: Shop) -> None:
    stock = shop.premises.services["stock"]
    await stock.put_faults([{"kind": "down", "action": "reserve"}])
    async with browsing(shop.storefront.url) as context:
        page = await context.new_page()
        await page.goto("/products/teapot")
        await add_to_basket(page)
        await fill_checkout(page)
        await page.get_by_text("Wait patiently").click()
        await page.get_by_role("button", name="Order and pay").click()
        await expect(page.locator(".badge")).to_have_text("delayed")
        await shop.storefront.kill()
        await stock.put_faults([])
        await shop.storefront.start()
        await expect(page.locator(".badge")).to_have_text("delivered")


async def test_the_order_that_has_no_address(shop: Shop) -> None:
    async with browsing(shop.storefront.url) as context:
        page = await context.new_page()
        await page.goto("/products/cups")
        await add_to_basket(page)
        await fill_checkout(page, address="")
        await page.get_by_role("button", name="Order and pay").click()
        await page.get_by_label("I have no address.").check()
        await page.get_by_role("button", name="Order and pay").click()
        await expect(page.locator(".note")).to_have_text(
            "There was no address to send your parcel to. Everything has been taken back; your money was given back."
        )
