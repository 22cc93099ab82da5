"""The control page in a browser, as a visitor uses it: by keyboard, on a phone, with and without scripts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page, Route, async_playwright, expect

from examples.shop.services.process import ServiceProcess
from tests.examples.control_process import NAMES, panel_over
from tests.examples.service_calls import CHARGE, Start, post
from tests.programs import program

pytestmark = pytest.mark.servers

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)

# A bound, not a wait: a busy machine is slow.
expect.set_options(timeout=20_000)


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    executable = program("chromium", "Debian's package chromium")
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=executable, args=FLAGS.split())
        yield chromium
        await chromium.close()


@pytest.fixture
async def panel(payment: ServiceProcess) -> AsyncIterator[str]:
    async with panel_over({"payment": payment.url}) as url:
        yield url


async def opened(browser: Browser, url: str, width: int = 1280) -> Page:
    page = await browser.new_page(viewport={"width": width, "height": 800})
    page.on("console", lambda message: pytest.fail(message.text))
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    await page.goto(url)
    await expect(page.locator("#pulse")).to_have_text("live")
    return page


async def test_payment_goes_down_and_comes_back(payment: ServiceProcess, panel: str, browser: Browser) -> None:
    page = await opened(browser, panel)
    down = page.get_by_role("list", name="Faults of payment").get_by_role("switch", name="Down")
    await down.click()
    await expect(down).to_be_checked()
    await expect(page.locator("#payment-state")).to_have_text("misbehaving")
    assert (await post(payment, "charge", CHARGE)).status_code == 503
    await expect(page.locator("#payment-seen")).to_contain_text("0 done, 0 taken back, asked 1 times")
    await down.click()
    await expect(down).not_to_be_checked()
    assert (await post(payment, "charge", CHARGE)).status_code == 200
    await expect(page.locator("#payment-seen tbody tr")).to_contain_text("charge order-1 42.00")
    await expect(page.locator("#payment-seen tbody tr")).to_contain_text("stands")


@pytest.mark.faults
async def test_works_by_keyboard_and_keeps_its_place(payment: ServiceProcess, panel: str, browser: Browser) -> None:
    page = await opened(browser, panel)
    flaky = page.locator("#payment-flaky")
    await flaky.focus()
    await page.keyboard.press("Space")
    await expect(flaky).to_be_checked()
    await expect(flaky).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(flaky).not_to_be_checked()
    await expect(flaky).to_be_focused()
    assert await payment.faults() == []


@pytest.mark.faults
async def test_all_faults_off(start_service: Start, browser: Browser) -> None:
    services = [await start_service(name) for name in NAMES]
    async with panel_over({service.name: service.url for service in services}) as url:
        page = await opened(browser, url)
        for service in services:
            await service.put_faults([{"kind": "hang"}])
        await expect(page.locator("#summary")).to_have_text("4 faults are on.")
        await page.get_by_role("button", name="All faults off").click()
        await expect(page.locator("#summary")).to_have_text("No fault is on.")
        await expect(page.get_by_role("switch", checked=True)).to_have_count(0)
        assert [await service.faults() for service in services] == [[], [], [], []]


@pytest.mark.faults
async def test_a_failed_change_stays_on_the_page(payment: ServiceProcess, panel: str, browser: Browser) -> None:
    page = await browser.new_page()
    await page.goto(panel)
    await page.locator("#mail-down").click()
    await expect(page.locator("#notices")).to_contain_text("mail does not answer")
    await payment.put_faults([{"kind": "hang"}])
    await expect(page.locator("#payment-hang")).to_be_checked()
    await expect(page.locator("#notices")).to_contain_text("mail does not answer")
    await page.locator("#payment-hang").click()
    await expect(page.locator("#notices")).to_be_empty()


@pytest.mark.faults
async def test_a_poll_does_not_remove_the_report_of_a_change(panel: str, browser: Browser) -> None:
    page = await browser.new_page()
    await page.clock.install()
    await page.goto(panel)
    await expect(page.locator("#pulse")).to_have_text("live")
    held: asyncio.Queue[asyncio.Event] = asyncio.Queue()

    async def hold(route: Route) -> None:
        if route.request.method == "POST":
            release = asyncio.Event()
            await held.put(release)
            await release.wait()
        await route.continue_()

    await page.route("**", hold)
    await page.locator("#mail-down").click()
    release = await held.get()
    await page.clock.run_for(3_000)
    release.set()
    await expect(page.locator("#notices")).to_contain_text("mail does not answer")


@pytest.mark.faults
async def test_a_late_look_does_not_turn_a_switch_back(panel: str, browser: Browser) -> None:
    page = await opened(browser, panel)
    held: asyncio.Queue[asyncio.Event] = asyncio.Queue()

    async def hold(route: Route) -> None:
        answer, release = await route.fetch(), asyncio.Event()
        await held.put(release)
        await release.wait()
        await route.fulfill(response=answer)

    await page.route(f"{panel}/", hold)
    late = await held.get()
    await page.locator("#payment-down").click()
    await expect(page.locator("#payment-down")).to_be_checked()
    late.set()
    # The next look is taken when this one has been dealt with.
    last = await held.get()
    assert await page.locator("#payment-down").get_attribute("aria-checked") == "true"
    await page.unroute(f"{panel}/")
    last.set()


@pytest.mark.faults
async def test_a_service_dies_and_returns_before_one_s_eyes(
    payment: ServiceProcess, panel: str, browser: Browser
) -> None:
    page = await opened(browser, panel)
    state = page.locator("#payment-state")
    await expect(state).to_have_text("working")
    await payment.kill()
    await expect(state).to_have_text("not answering")
    await expect(state).to_have_attribute("data-state", "gone")
    await payment.restart()
    await expect(state).to_have_text("working")


@pytest.mark.faults
async def test_says_when_the_panel_itself_is_gone(payment: ServiceProcess, browser: Browser) -> None:
    async with panel_over({"payment": payment.url}) as url:
        page = await browser.new_page()
        await page.goto(url)
        await expect(page.locator("#pulse")).to_have_text("live")
    await expect(page.locator("#pulse")).to_have_text("this panel does not answer")


@pytest.mark.faults
async def test_says_when_something_else_answers(panel: str, browser: Browser) -> None:
    page = await opened(browser, panel)
    await page.route(f"{panel}/", lambda route: route.fulfill(body="Welcome to the airport's network"))
    await expect(page.locator("#pulse")).to_have_text("this panel does not answer")
    await page.unroute(f"{panel}/")
    await expect(page.locator("#pulse")).to_have_text("live")


@pytest.mark.faults
@pytest.mark.parametrize("width", [320, 390, 1280])
async def test_nothing_is_wider_than_the_screen(
    payment: ServiceProcess, panel: str, browser: Browser, width: int
) -> None:
    await post(payment, "charge", {**CHARGE, "order_id": "order-" + "W" * 60})
    await payment.put_faults([{"kind": "down", "order_id": "order-" + "W" * 60, "times": 1_000_000}])
    page = await opened(browser, panel, width)
    await expect(page.locator("#payment-seen")).to_contain_text("WWW")
    assert await page.evaluate("document.documentElement.scrollWidth") == width


async def test_works_without_scripts(payment: ServiceProcess, panel: str, browser: Browser) -> None:
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(panel)
    await page.locator("#payment-slow").click()
    await expect(page.locator("#payment-slow")).to_be_checked()
    await payment.put_faults([])
    await page.get_by_role("link", name="Reload").click()
    await expect(page.locator("#payment-slow")).not_to_be_checked()
