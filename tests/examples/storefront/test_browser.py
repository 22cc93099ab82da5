"""Customers with a real browser: they browse, order, and watch what becomes of it."""

from __future__ import annotations

import asyncio
import re

import pytest
from playwright.async_api import Page, expect

from examples.shop.storefront import following
from examples.shop.storefront.storefront import Storefront
from stepward.errors import TransportError
from tests.examples.storefront.browser import PHONE, add_to_basket, browsing, buy, enter, fill_checkout, tab_to
from tests.examples.storefront.fakes import ALL_WELL, DECLINED, RECEIVED, STARTED, FakeDoor, step, task
from tests.examples.storefront.site import Site

pytestmark = pytest.mark.servers

DELAYED = step("payment.charge", happened="delayed", failures=1, repeat_at=None, error={"message": "503"})


async def test_browse_order_and_watch_it_reach_delivered(site: Site, door: FakeDoor) -> None:
    async with browsing(site.url) as context:
        page = await context.new_page()
        await page.goto("/")
        await page.get_by_role("link", name="Copper kettle").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Copper kettle")
        await add_to_basket(page)
        await page.get_by_label("Quantity of Copper kettle").fill("3")
        await page.get_by_role("button", name="Update quantities").click()
        await expect(page.locator(".sum strong")).to_have_text("€205.50")
        await page.get_by_role("link", name="Go to checkout").click()
        await page.get_by_label("Your name").fill("Ada")
        await page.get_by_label("Where the parcel goes").fill("Harbour Street 5")
        await page.get_by_text("Wait patiently").click()
        await page.get_by_role("button", name="Order and pay").click()
        await page.wait_for_url("**/orders/order-*")
        assert [posted.data["care"] for posted in door.posted] == ["patient"]
        assert door.posted[0].data["lines"] == [{"product": "kettle", "quantity": 3}]
        await page.evaluate("window.isTheSamePage = true")
        order = door.posted[0].id
        door.tell_all(order, *ALL_WELL[:4])
        await expect(page.locator(".note")).to_have_text("We are taking your payment.")
        await expect(page.locator("[aria-current=step]")).to_contain_text("Payment taken")
        door.tell_all(order, *ALL_WELL[4:])
        await expect(page.locator(".badge")).to_have_text("delivered")
        await expect(page.locator(".stage").last).to_contain_text(
            "Delivered to the parcel service · tracking parcel-000001"
        )
        assert await page.evaluate("window.isTheSamePage")
        await page.get_by_role("link", name="My orders").first.click()
        await expect(page.get_by_role("link", name="On its way to you")).to_be_visible()


@pytest.mark.faults
async def test_the_page_says_that_the_payment_service_is_down_and_then_goes_on(site: Site, door: FakeDoor) -> None:
    async with browsing(site.url) as context:
        page = await context.new_page()
        order = await buy(page)
        door.tell_all(order, *ALL_WELL[:4], DELAYED)
        await expect(page.locator(".note")).to_have_text(
            "The payment service does not answer at the moment. Nothing is lost: we try again by ourselves."
        )
        await expect(page.locator("[data-mark=delayed]")).to_contain_text("Payment taken")
        door.tell_all(order, *ALL_WELL[4:])
        await expect(page.locator(".badge")).to_have_text("delivered")


@pytest.mark.faults
async def test_the_page_says_that_a_declined_card_cost_nothing(site: Site, door: FakeDoor) -> None:
    async with browsing(site.url) as context:
        page = await context.new_page()
        order = await buy(page)
        declined = step("payment.charge", happened="failed", error=DECLINED)
        door.tell_all(order, *ALL_WELL[:4], declined, task("undoing"), task("undone"))
        await expect(page.locator(".note")).to_have_text(
            "Your card was declined. Everything has been taken back; no money was taken."
        )
        await expect(page.locator("[data-mark='taken back']")).to_contain_text("Goods put aside")


@pytest.mark.faults
async def test_only_what_is_new_is_read_out(site: Site, door: FakeDoor) -> None:
    async with browsing(site.url) as context:
        page = await context.new_page()
        order = await buy(page)
        door.tell_all(order, RECEIVED, STARTED)
        await expect(page.locator(".note")).to_have_text("We are putting your goods aside.")
        await page.evaluate(
            """() => {
                window.changed = [];
                const note = records => records.forEach(
                    record => record.addedNodes.forEach(node => window.changed.push(node.className)));
                new MutationObserver(note).observe(document.getElementById("status"), {subtree: true, childList: true});
            }"""
        )
        door.tell_all(order, step("stock.reserve"))
        await expect(page.locator(".note")).to_have_text("We are taking your payment.")
        assert await page.evaluate("window.changed") == ["note", "stage", "stage"]


async def test_a_checkout_by_keyboard_alone(site: Site, door: FakeDoor) -> None:
    async with browsing(site.url) as context:
        page = await context.new_page()
        await page.goto("/")
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        await expect(page.get_by_role("link", name="Skip to the content")).to_be_in_viewport()
        await page.keyboard.press("Enter")
        await tab_to(page, "Stoneware teapot")
        await enter(page)
        await tab_to(page, "How many?")
        await page.keyboard.type("2")
        await enter(page)
        await page.wait_for_url("**/basket")
        await tab_to(page, "Quantity of Stoneware teapot")
        await page.keyboard.press("ArrowUp")
        await enter(page)
        await expect(page.locator(".sum strong")).to_have_text("€126.00")
        await tab_to(page, "Go to checkout")
        await enter(page)
        await tab_to(page, "Your name")
        await page.keyboard.type("Ada")
        await tab_to(page, "Where the parcel goes")
        await page.keyboard.type("Harbour Street 5")
        await tab_to(page, "Take everything back")
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("ArrowDown")
        await tab_to(page, "Order and pay")
        await enter(page)
        await page.wait_for_url("**/orders/order-*")
        assert door.posted[0].data == {
            "customer": "Ada",
            "lines": [{"product": "teapot", "quantity": 3}],
            "address": "Harbour Street 5",
            "care": "personal",
        }


async def test_errors_stand_beside_their_fields_and_nothing_typed_is_lost(site: Site, door: FakeDoor) -> None:
    async with browsing(site.url, viewport=PHONE) as context:
        page = await context.new_page()
        await page.goto("/")
        await add_to_basket(page, "Add Stoneware teapot to the basket")
        await fill_checkout(page, name="", address="Harbour Street 5")
        await page.get_by_text("See to it personally").click()
        await page.get_by_role("button", name="Order and pay").click()
        name = page.get_by_label("Your name")
        await expect(page.get_by_role("alert")).to_have_text(re.compile("Nothing was ordered yet"))
        await expect(name).to_have_attribute("aria-invalid", "true")
        await expect(name).to_have_accessible_description("Please tell us your name.")
        await expect(page).to_have_title(re.compile("^Please look again"))
        assert await is_just_above(page, "#customer", "#error-customer")
        await expect(page.get_by_label("Where the parcel goes")).to_have_value("Harbour Street 5")
        await expect(page.get_by_label("See to it personally")).to_be_checked()
        await name.fill("Ada")
        await page.get_by_role("button", name="Order and pay").click()
        await page.wait_for_url("**/orders/order-*")
        assert len(door.posted) == 1


async def test_a_form_that_is_sent_twice_makes_one_order(site: Site, door: FakeDoor) -> None:
    async with browsing(site.url) as context:
        page = await context.new_page()
        await page.goto("/products/teapot")
        await add_to_basket(page)
        await fill_checkout(page)
        await page.get_by_role("button", name="Order and pay").dblclick()
        await page.wait_for_url("**/orders/order-*")
        order = page.url
        await page.reload()
        await page.go_back()
        await page.goto("/orders")
        await expect(page.locator(".order-row")).to_have_count(1)
        await page.locator(".order-row a").click()
        await page.wait_for_url(order)
        assert len({posted.id for posted in door.posted}) == 1


@pytest.mark.faults
async def test_an_order_that_could_not_be_posted_can_be_sent_again(site: Site, door: FakeDoor) -> None:
    async with browsing(site.url) as context:
        page = await context.new_page()
        await page.goto("/products/teapot")
        await add_to_basket(page)
        await fill_checkout(page)
        door.error = TransportError("queue")
        await page.get_by_role("button", name="Order and pay").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Nothing was ordered")
        await expect(page.get_by_role("link", name="Basket 1")).to_be_visible()
        door.error = None
        await page.get_by_role("button", name="Send the same order again").click()
        await page.wait_for_url("**/orders/order-*")
        assert len(door.posted) == 1


@pytest.mark.faults
async def test_the_page_goes_on_after_the_storefront_was_gone(storefront: Storefront, door: FakeDoor) -> None:
    async with Site(storefront).serving() as site, browsing(site.url) as context:
        page = await context.new_page()
        order = await buy(page)
        door.tell_all(order, RECEIVED)
        await expect(page.locator(".badge")).to_have_text("received")
        await site.stop()
        storefront.bell.is_stopped = False
        door.tell_all(order, *ALL_WELL[1:])
        async with Site(storefront, port=site.known_port).serving():
            await expect(page.locator(".badge")).to_have_text("delivered")


@pytest.mark.faults
async def test_the_page_asks_again_after_an_answer_that_is_an_error(
    site: Site, door: FakeDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "MOST_STREAMS", 0)
    async with browsing(site.url) as context:
        page = await context.new_page()
        async with page.expect_response(re.compile(r"/live\?")) as answer:
            order = await buy(page)
        assert (await answer.value).status == 503
        monkeypatch.setattr(following, "MOST_STREAMS", 1)
        door.tell_all(order, *ALL_WELL)
        await expect(page.locator(".badge")).to_have_text("delivered")


@pytest.mark.faults
async def test_the_page_asks_no_more_when_all_is_over(
    site: Site, door: FakeDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "RETRY", "retry: 1\n\n")
    async with browsing(site.url) as context:
        page = await context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/live?" in request.url else None)
        order = await buy(page)
        door.tell_all(order, *ALL_WELL)
        await expect(page.locator(".badge")).to_have_text("delivered")
        await turn_away(page, is_hidden=True)
        await turn_away(page, is_hidden=False)
        for _ in range(20):
            await page.evaluate("fetch('/health').then(answer => answer.text())")
        assert len(asked) == 1


@pytest.mark.faults
async def test_a_hidden_page_holds_no_connection(site: Site, storefront: Storefront, door: FakeDoor) -> None:
    async with browsing(site.url) as context:
        page = await context.new_page()
        order = await buy(page)
        door.tell_all(order, RECEIVED)
        await expect(page.locator(".badge")).to_have_text("received")
        assert storefront.bell.listeners == 1
        await turn_away(page, is_hidden=True)
        async with asyncio.timeout(10):
            while storefront.bell.listeners:
                await page.evaluate("fetch('/health').then(answer => answer.text())")
        door.tell_all(order, *ALL_WELL[1:])
        async with page.expect_request(re.compile(r"/live\?")) as asked:
            await turn_away(page, is_hidden=False)
        assert (await asked.value).url.endswith("/live?after=1"), "only what is new is asked for"
        await expect(page.locator(".badge")).to_have_text("delivered")


@pytest.mark.faults
async def test_without_scripts_the_page_loads_itself_again(site: Site, door: FakeDoor) -> None:
    async with browsing(site.url, java_script_enabled=False) as context:
        page = await context.new_page()
        order = await buy(page)
        door.tell_all(order, *ALL_WELL)
        await expect(page.locator(".badge")).to_have_text("delivered")


async def is_just_above(page: Page, upper: str, lower: str) -> bool:
    above, below = await page.locator(upper).bounding_box(), await page.locator(lower).bounding_box()
    assert above is not None and below is not None
    return 0 <= below["y"] - (above["y"] + above["height"]) < 20


async def turn_away(page: Page, *, is_hidden: bool) -> None:
    await page.evaluate(
        """isHidden => {
            Object.defineProperty(document, "hidden", {value: isHidden, configurable: true});
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        is_hidden,
    )
