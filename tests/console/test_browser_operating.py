"""The console in a browser: what an operator changes while everything runs, and what a page follows live."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, expect

from stepward import App, Client, TaskHandle
from tests.console.browsing import opened
from tests.until import until

pytestmark = pytest.mark.servers


async def test_the_rate_and_the_number_of_an_agent_are_set_in_place(
    browser: Browser, address: str, client: Client, done: TaskHandle
) -> None:
    page = await opened(browser, f"{address}/agents")
    payment = page.locator("section.agent", has_text="payment")
    await expect(payment.locator("dl.figures", has_text="errors")).to_contain_text("0%")
    await payment.locator(".limit-act summary").click()
    await page.get_by_label("Rate of calls of payment").fill("20/s")
    await payment.get_by_role("button", name="Set the limit").click()
    await expect(payment.locator(".limit")).to_contain_text("At most 20/1s calls started")
    (limit,) = [limit for limit in await client.limits() if limit.name == "agent:payment"]
    assert (limit.concurrency, limit.rate) == (None, "20/1s")
    await payment.locator(".limit-act summary").click()
    await payment.get_by_role("button", name="Let the code decide").click()
    await expect(payment.locator(".limit")).to_contain_text("No limit over all processes")
    await page.close()


async def test_alerts_are_silenced_for_an_hour_and_sent_again(
    browser: Browser, address: str, client: Client, failed: TaskHandle
) -> None:
    page = await opened(browser, f"{address}/alerts")
    await page.locator(".silence-act summary").click()
    await page.get_by_label("How long no sink gets task_error").fill("1h")
    await page.get_by_label("Why task_error is silenced").fill("the bank knows")
    await page.get_by_role("button", name="Silence it").click()
    await expect(page.locator(".notice")).to_contain_text("Silent")
    await expect(page.locator("#silences")).to_contain_text("the bank knows")
    await page.get_by_role("button", name="End the silence").click()
    await expect(page.locator("#silences")).to_have_count(0)
    await page.close()


async def test_a_process_is_drained_with_a_button(browser: Browser, address: str, client: Client, app: App) -> None:
    page = await opened(browser, f"{address}/instances")
    await page.get_by_role("button", name="Drain process").first.click()
    await expect(page.locator(".notice")).to_contain_text("Asked")
    await until(client.instances, lambda found: all(not instance.alive and instance.ended for instance in found))
    await expect(page.get_by_role("button", name="Drain process")).to_have_count(0)
    await page.close()


async def test_values_that_a_task_writes_come_to_its_page_without_a_reload(
    browser: Browser, address: str, client: Client
) -> None:
    task = await client.submit("narrate", id="order-7")
    await until(task.status, lambda status: status.waits_for == "signal go")
    page = await opened(browser, f"{address}/tasks/order-7")
    live_values = page.locator("#live-values")
    await expect(live_values).to_contain_text('"done": 1')
    await page.evaluate("document.body.dataset.same = 'page'")
    await task.signal("go")
    await expect(live_values).to_contain_text('"done": 2')
    await expect(live_values).to_contain_text("the second line")
    assert await page.evaluate("document.body.dataset.same") == "page"
    await page.close()


async def test_a_filter_is_completed_with_fields_and_their_known_values(
    browser: Browser, address: str, failed: TaskHandle
) -> None:
    page = await opened(browser, f"{address}/tasks")
    field = page.locator("#filter")
    completions = page.locator("#completions [role=option]")
    await field.press_sequentially("wor")
    await expect(completions).to_have_text(["workflow"])
    await field.press("Tab")
    await expect(field).to_have_value("workflow")
    await field.press_sequentially(" = 'ful")
    await field.press("ArrowDown")
    await field.press("Enter")
    await expect(field).to_have_value("workflow = 'fulfil'")
    await field.press_sequentially(" and state = '")
    await expect(completions.first).to_have_text("pending")
    await field.press("Escape")
    await expect(page.locator("#completions")).to_be_hidden()
    await field.press_sequentially("error'")
    await field.press("Enter")
    await expect(page.get_by_role("link", name="order-1")).to_be_visible()
    await page.close()
