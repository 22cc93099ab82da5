"""From a click in a real browser to the first status on the order's page, through every process of the example."""

from __future__ import annotations

import shutil

from playwright.async_api import Page, async_playwright

from benchmarks.store_locations import Place
from examples.shop.processes.premises import Premises

ORDERS = 60
SETTINGS = {"STEPWARD_TRANSPORT": "store"}
BROWSER = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
WATCH = """
addEventListener('submit', () => sessionStorage.setItem('clicked', Date.now()), true);
const look = () => {
  if (window.told === undefined && document.querySelector('.stage[data-mark=done]')) window.told = Date.now();
};
document.addEventListener('DOMContentLoaded', () => {
  look();
  new MutationObserver(look).observe(document.body, {subtree: true, childList: true, attributes: true});
});
"""
"""In the page: when the form was sent, and when the first stage of the order stood there as done."""

Figures = dict[str, float]


async def clicking(place: Place) -> Figures:
    """One customer after the other, while nothing else happens in the shop."""
    premises = Premises(place.folder, SETTINGS, stock={"cups": 10 * ORDERS})
    storefront = premises.storefront()
    try:
        await premises.group.start(*premises.services.values())
        workers = (premises.worker(role, role) for role in ("submission", "scheduler", "agents", "supervisor"))
        await premises.group.start(*workers, storefront)
        times = sorted(await _order(storefront.url))
    finally:
        await premises.group.stop()
    return {"click_to_status_p50_ms": times[len(times) // 2], "click_to_status_p95_ms": times[int(len(times) * 0.95)]}


async def _order(url: str) -> list[float]:
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=BROWSER.split())
        page = await (await chromium.new_context(base_url=url)).new_page()
        await page.add_init_script(WATCH)
        times = [await _click(page) for _ in range(ORDERS + 5)]
        await chromium.close()
    return times[5:]


async def _click(page: Page) -> float:
    await page.goto("/products/cups")
    await page.get_by_role("button", name="Add to basket").click()
    await page.goto("/checkout")
    await page.get_by_label("Your name").fill("Ada")
    await page.get_by_label("Where the parcel goes").fill("Harbour Street 5")
    await page.get_by_role("button", name="Order and pay").click()
    await page.wait_for_url("**/orders/order-*")
    await page.locator(".stage[data-mark=done]").first.wait_for()
    milliseconds: float = await page.evaluate("window.told - Number(sessionStorage.getItem('clicked'))")
    await page.locator(".status-head[data-state=delivered]").wait_for()
    return milliseconds
