"""A real browser at the storefront."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import BrowserContext, ConsoleMessage, Page, async_playwright, expect

from tests.programs import program

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
SMALL_PHONE = {"width": 320, "height": 640}
LONGEST_WAIT = 30_000
"""Milliseconds: a bound, not a wait, as a busy machine is slow."""

expect.set_options(timeout=LONGEST_WAIT)


@asynccontextmanager
async def browsing(url: str, **options: Any) -> AsyncIterator[BrowserContext]:
    """A browser whose pages live at `url`; it fails the test when one of them breaks its own rules."""
    broken: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if "Failed to load resource" not in message.text:
            broken.append(message.text)

    executable = program("chromium", "Debian's package chromium")
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        context = await chromium.new_context(base_url=url, **{"viewport": DESKTOP, **options})
        context.set_default_timeout(LONGEST_WAIT)
        context.on("console", note)
        context.on("weberror", lambda error: broken.append(str(error.error)))
        yield context
        await chromium.close()
    assert broken == []


async def fill_checkout(page: Page, *, name: str = "Ada", address: str = "Harbour Street 5") -> None:
    """Go to the checkout, and type a name and an address."""
    await page.goto("/checkout")
    await page.get_by_label("Your name").fill(name)
    await page.get_by_label("Where the parcel goes").fill(address)


async def add_to_basket(page: Page, button: str = "Add to basket") -> None:
    """Press the button and wait for the basket: another page that is opened before it cuts the request off."""
    async with page.expect_navigation(url="**/basket"):
        await page.get_by_role("button", name=button).click()


async def buy(page: Page, product: str = "teapot", quantity: int = 2) -> str:
    """Order a product as a customer would; the order's id."""
    await page.goto(f"/products/{product}")
    await page.get_by_label("How many?").fill(str(quantity))
    await add_to_basket(page)
    await fill_checkout(page)
    await page.get_by_role("button", name="Order and pay").click()
    await page.wait_for_url("**/orders/order-*")
    return page.url.rpartition("/")[2]


async def tab_to(page: Page, name: str) -> None:
    """Press Tab until what has that name has the focus, and see at each stop where the focus is."""
    for _ in range(60):
        await page.keyboard.press("Tab")
        focused, outline = await page.evaluate(
            """() => {
                const it = document.activeElement;
                const label = it.labels && it.labels.length ? it.labels[0].innerText : it.innerText;
                return [(label || "").replace(/\\s+/g, " ").trim(), getComputedStyle(it).outlineStyle];
            }"""
        )
        assert outline != "none", f"{focused} has the focus and does not show it"
        if focused.startswith(name):
            return
    raise AssertionError(f"{name} is out of reach of the keyboard")


async def enter(page: Page) -> None:
    """Press Enter, and wait for the page that it leads to."""
    async with page.expect_navigation():
        await page.keyboard.press("Enter")
