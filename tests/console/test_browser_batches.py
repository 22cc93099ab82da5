"""Hundreds of failed tasks, found by a filter and resubmitted at a rate while an operator watches in a browser."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Browser, expect

from stepward import Client
from tests.console.browsing import opened
from tests.console.conftest import Bank
from tests.until import until

pytestmark = pytest.mark.servers

WATCH = """
window.shown = new Set();
const look = () => window.shown.add(document.querySelector('#progress .sentence').textContent);
look();
const parts = {subtree: true, childList: true, characterData: true};
new MutationObserver(look).observe(document.querySelector('#progress'), parts);
"""
"""In the page: every text of the progress that an operator has seen."""
RATE = 20
PATIENCE_MILLISECONDS = 180_000


@pytest.mark.parametrize("number", [20, pytest.param(500, marks=pytest.mark.faults)])
async def test_failed_tasks_are_found_by_a_filter_and_resubmitted_at_a_rate_while_one_watches(
    browser: Browser, address: str, client: Client, the_bank: Bank, number: int
) -> None:
    for each in range(number):
        await client.submit("fulfil", "bad", id=f"order-{each}")
    await client.submit("fulfil", "good", id="whole")
    await until(lambda: client.count(where="state = 'error'"), lambda found: found.number == number)
    page = await opened(browser, f"{address}/tasks")
    await page.locator("#filter").fill("state = 'error' and workflow = 'fulfil' and error.type = 'StepFailed'")
    await page.keyboard.press("Enter")
    the_bank.is_mended = True
    await page.get_by_role("button", name="Resubmit all…").click()
    await expect(page.locator("h1")).to_have_text(f"Resubmit {number} tasks?")
    await page.get_by_label("Tasks a second").fill(str(RATE))
    await page.get_by_label("Why, for the audit").fill("the bank is mended")
    await page.get_by_label(f"Type {number} to confirm").fill(str(number))
    began = asyncio.get_running_loop().time()
    await page.get_by_role("button", name=f"Resubmit {number} tasks").click()
    await page.locator("#progress .sentence").wait_for()
    await page.evaluate(WATCH)
    await expect(page.locator("#head")).to_contain_text("done", timeout=PATIENCE_MILLISECONDS)
    took = asyncio.get_running_loop().time() - began
    await expect(page.locator("#progress")).to_contain_text(f"{number} done, 0 refused")
    assert len(await page.evaluate("[...window.shown]")) > 1, "the page did not follow the batch"
    assert took >= number / RATE - 1.5
    await until(lambda: client.count(where="state = 'processed'"), lambda found: found.number == number + 1)
    acts = [audit for audit in await client.audits(limit=10 * number) if audit.act == "resubmit"]
    assert len({audit.task_id for audit in acts}) == len(acts) == number
    assert await client.alerts() == []
    await page.close()
