"""Every page in a real browser: within the width of a phone, readable, and made of what assistive technology needs."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from playwright.async_api import Page, expect

from examples.shop.storefront.storefront import Storefront
from tests.examples.storefront.browser import DESKTOP, PHONE, SMALL_PHONE, add_to_basket, browsing, buy
from tests.examples.storefront.customers import heard
from tests.examples.storefront.fakes import ALL_WELL, DECLINED, RECEIVED, FakeDoor, step, task
from tests.examples.storefront.site import Site
from tests.tiers import sampled

pytestmark = pytest.mark.servers

LEAST_CONTRAST = 4.5
LEAST_TARGET = 24

# The contrast of each piece of text with what is painted behind it, as WCAG 2 counts it.
CONTRASTS = """() => {
    const channel = part => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const parts = color => color.match(/[\\d.]+/g).map(Number);
    const behind = element => {
        for (let at = element; at; at = at.parentElement) {
            const color = parts(getComputedStyle(at).backgroundColor);
            if (color.length === 3 || color[3] === 1) return color;
        }
        return parts(getComputedStyle(document.documentElement).backgroundColor);
    };
    return [...document.querySelectorAll("body *")]
        .filter(element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim()))
        .map(element => {
            const [one, other] = [light(parts(getComputedStyle(element).color)), light(behind(element))];
            const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
            return [`${element.tagName}.${element.className}: ${element.innerText}`, contrast];
        });
}"""
FAULTS = """() => {
    const faults = [];
    const all = selector => [...document.querySelectorAll(selector)];
    const note = (is_wrong, words) => is_wrong && faults.push(words);
    note(document.documentElement.lang !== "en", "no language");
    for (const landmark of ["header", "nav", "main", "footer", "h1"])
        note(all(landmark).length !== 1, `${all(landmark).length} of ${landmark}`);
    const ids = all("[id]").map(element => element.id);
    note(new Set(ids).size !== ids.length, "two elements of one id");
    all("input:not([type=hidden]), textarea").forEach(it => note(!it.labels.length, `${it.name} has no label`));
    all("img").forEach(it => note(!it.hasAttribute("alt"), `${it.src} has no alt`));
    all("img").forEach(it => note(!it.complete || !it.naturalWidth, `${it.src} does not show`));
    all("a, button").forEach(it => note(!it.innerText.trim(), `${it.outerHTML} has no name`));
    all("[aria-describedby], [aria-labelledby]").forEach(it => {
        const id = it.getAttribute("aria-describedby") || it.getAttribute("aria-labelledby");
        note(!document.getElementById(id), `nothing has the id ${id}`);
    });
    let level = 0;
    all("h1, h2, h3").forEach(it => {
        note(it.tagName[1] - level > 1, `${it.innerText} skips a level`);
        level = Number(it.tagName[1]);
    });
    return faults;
}"""
TARGETS = """() => [...document.querySelectorAll("button, .main-button, nav a, input:not([type=hidden]), textarea")]
    .map(it => [it.outerHTML.slice(0, 80), it.getBoundingClientRect().width, it.getBoundingClientRect().height])"""


@pytest.mark.parametrize(("scheme", "told"), sampled((("light", 1), ("light", 6), ("dark", 6)), ("light", 1)))
async def test_every_page(
    site: Site, storefront: Storefront, door: FakeDoor, scheme: Literal["light", "dark"], told: int
) -> None:
    """The page of an order looks different after each thing that may have happened to it."""
    async with browsing(site.url, color_scheme=scheme) as context:
        page = await context.new_page()
        for path in ("/", "/products/lantern", "/basket", "/checkout", "/orders", "/nowhere", "/products/unicorn"):
            await page.goto(path)
            await look(page)
        await see_the_basket_and_the_checkout(page)
        for happened in stories()[-told:]:
            order = await buy(page, "anvil", 500)
            await heard(storefront, door, order, *happened)
            await page.reload()
            await look(page)
        await page.goto("/orders")
        await look(page)


async def see_the_basket_and_the_checkout(page: Page) -> None:
    for product in ("teapot", "kettle"):
        await page.goto(f"/products/{product}")
        await page.get_by_label("How many?").fill("501")
        await page.get_by_role("button", name="Add to basket").click()
        await expect(page.get_by_text("A whole number")).to_be_visible()
        await look(page)
        await page.get_by_label("How many?").fill("500")
        await add_to_basket(page)
    await look(page)
    await page.get_by_label("Quantity of Stoneware teapot").fill("501")
    await page.get_by_role("button", name="Update quantities").click()
    await expect(page.get_by_text("A whole number")).to_be_visible()
    await look(page)
    await page.goto("/checkout")
    await look(page)
    await page.get_by_role("button", name="Order and pay").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    await look(page)


async def look(page: Page) -> None:
    """Checks that nothing is cut off, pale, nameless or too small to hit."""
    for size in (SMALL_PHONE, PHONE, DESKTOP):
        await page.set_viewport_size({"width": size["width"], "height": size["height"]})
        width = await page.evaluate("document.documentElement.scrollWidth")
        assert width <= size["width"], f"{page.url} is {width} wide on a screen of {size['width']}"
        for name, wide, high in await page.evaluate(TARGETS):
            assert min(wide, high) >= (16 if "radio" in name or "checkbox" in name else LEAST_TARGET), name
    pale = [(text, contrast) for text, contrast in await page.evaluate(CONTRASTS) if contrast < LEAST_CONTRAST]
    assert pale == [], page.url
    assert await page.evaluate(FAULTS) == [], page.url


def stories() -> list[list[tuple[str, dict[str, Any]]]]:
    aside = list(ALL_WELL[:4])
    declined = [*aside, step("payment.charge", happened="failed", error=DECLINED)]
    return [
        [RECEIVED],
        [*aside, step("payment.charge", happened="delayed")],
        [*declined, task("undoing")],
        [*declined, task("undoing"), task("undone")],
        [*declined, task("failed")],
        list(ALL_WELL),
    ]


@pytest.mark.faults
async def test_reduced_motion_is_respected(site: Site) -> None:
    moves = """() => document.getAnimations().length"""
    for reduced_motion, are_moving in (("no-preference", True), ("reduce", False)):
        async with browsing(site.url, reduced_motion=reduced_motion) as context:
            page = await context.new_page()
            await buy(page)
            await expect(page.locator("[data-mark='in progress']")).to_be_visible()
            assert bool(await page.evaluate(moves)) == are_moving
