"""The console in a browser, as an operator at night uses it: from the alert to the cause, and from there to repair."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser, expect

from stepward import App, Client, TaskHandle
from stepward.model.alerts.console_links import alert_link
from stepward.model.states import StepState, TaskState
from tests.console.browsing import opened
from tests.console.conftest import EVIL, Bank
from tests.programs import npm_file

pytestmark = pytest.mark.servers

AXE = Path(__file__).parents[2] / "build/npm/node_modules/axe-core/axe.min.js"
PATHS = (
    "/",
    "/tasks",
    "/tasks/order-1",
    "/batches",
    "/agents",
    "/limits",
    "/alerts",
    "/instances",
    "/audit",
    "/settings",
)
LOOKS: tuple[tuple[Literal["light", "dark"], int], ...] = (("light", 1280), ("dark", 390))


async def test_from_an_alert_to_its_cause_and_to_the_repair(
    browser: Browser, address: str, client: Client, failed: TaskHandle, done: TaskHandle
) -> None:
    page = await opened(browser, f"{address}/")
    await page.locator(".need", has_text="alert open").click()
    await page.get_by_role("link", name="order-1").click()
    await expect(page.locator("#cause .sentence")).to_have_text("Unrecoverable: card bad was refused")
    await page.locator(".edit summary", has_text="Resubmit").click()
    await page.get_by_label("Arguments, a JSON array").fill('["good"]')
    await page.locator(".edit[open] button.primary").click()
    await expect(page.locator(".notice")).to_contain_text("Resubmitted")
    await expect(page.locator("#head")).to_contain_text("processed")

    await page.goto(f"{address}/tasks/order-2")
    await page.get_by_role("button", name="Undo order-2").click()
    await expect(page.locator("#head")).to_contain_text("undone")
    await expect(page.locator(".tl-undo").first).to_be_attached()
    assert (await client.task("order-2").status()).state is TaskState.UNDONE

    await page.goto(f"{address}/agents")
    await page.get_by_label("Why payment is suspended").fill("the bank moves")
    await page.get_by_role("button", name="Suspend payment").click()
    await expect(page.get_by_role("button", name="Resume payment")).to_be_visible()
    await page.close()


async def test_the_link_of_an_alert_shows_the_cause_and_one_click_resubmits_the_step(
    browser: Browser, address: str, client: Client, failed: TaskHandle, the_bank: Bank
) -> None:
    (alert,) = await client.alerts()
    page = await opened(browser, str(alert_link(address, alert)))
    await expect(page.locator("#cause .sentence")).to_have_text("Unrecoverable: card bad was refused")
    await expect(page.locator("#cause")).to_contain_text("step payment.charge/1")
    the_bank.is_mended = True
    await page.get_by_role("button", name="Resubmit order-1: repeat payment.charge/1", exact=True).click()
    await expect(page.locator(".notice")).to_contain_text("Resubmitted")
    await expect(page.locator("#head")).to_contain_text("processed")
    assert await client.alerts() == []
    await page.close()


async def waiting_order(client: Client) -> TaskHandle:
    """An order whose charge waits; Schedulers read within a second that an Agent is suspended, and start until then."""
    for number in range(4, 10_000):
        task = await client.submit("fulfil", "good", id=f"order-{number}")
        steps = await task.steps()
        while len(steps) < 2 or steps[1].state is StepState.RUNNING:
            await asyncio.sleep(0)
            steps = await task.steps()
        if steps[1].state is StepState.NOT_STARTED:
            return task
    raise AssertionError("expected a charge to wait while payment is suspended, found none that does")


async def test_an_agent_is_suspended_drained_and_resumed(
    browser: Browser, address: str, client: Client, app: App, the_bank: Bank
) -> None:
    the_bank.is_held = True
    await client.submit("fulfil", "good", id="order-3")
    page = await opened(browser, f"{address}/agents")
    payment = page.locator("section.agent", has_text="payment")
    await expect(payment.locator("dd").first).to_have_text("1")
    await page.get_by_label("Why payment is suspended").fill("the bank moves")
    await page.get_by_role("button", name="Suspend payment").click()
    await expect(payment).to_contain_text("suspended")
    await expect(payment).to_contain_text("the bank moves")
    await expect(payment).to_contain_text("Drains: 1 call still running")
    the_bank.is_held = False  # The call of order-3 goes on waiting.
    waiting = await waiting_order(client)
    the_bank.answers.set()
    assert await client.task("order-3").result(timeout=30) == "charged secret-4711"
    await expect(payment).to_contain_text("Drained: none of its calls is running.")
    assert (await waiting.status()).state is not TaskState.PROCESSED
    await page.get_by_role("button", name="Resume payment").click()
    await expect(payment.locator(".panel-head .state")).to_contain_text("ok")
    assert await waiting.result(timeout=30) == "charged secret-4711"
    await page.close()


async def test_a_filter_is_saved_in_the_browser_and_forgotten(
    browser: Browser, address: str, failed: TaskHandle
) -> None:
    page = await opened(browser, f"{address}/tasks")
    await expect(page.locator("#save-filter")).to_be_hidden()
    await page.locator("#filter").fill("workflow = 'fulfil' and state = 'error'")
    await page.keyboard.press("Enter")
    await page.get_by_label("Name of this filter").fill("<b>mine</b>")
    await page.get_by_role("button", name="Save in this browser").click()
    await expect(page.locator("#save-filter")).to_be_hidden()
    await page.goto(f"{address}/tasks")
    await page.get_by_role("link", name="<b>mine</b>").click()
    await expect(page.locator("#filter")).to_have_value("workflow = 'fulfil' and state = 'error'")
    await expect(page.locator("#rows")).to_contain_text("order-1")
    await page.get_by_label("Forget the filter <b>mine</b>").click()
    await expect(page.get_by_role("link", name="<b>mine</b>")).to_have_count(0)
    await page.close()


async def test_all_that_match_a_filter_are_resubmitted_while_an_operator_watches(
    browser: Browser, address: str, client: Client, failed: TaskHandle
) -> None:
    page = await opened(browser, f"{address}/tasks")
    await page.locator("#filter").fill("error.type = 'StepFailed' and state = 'error'")
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Resubmit all…").click()
    await expect(page.locator("h1")).to_have_text("Resubmit 1 task?")
    await page.get_by_label("Tasks a second").fill("20")
    await page.get_by_label("Why, for the audit").fill("the bank is mended")
    await page.get_by_label("Type 1 to confirm").fill("1")
    await page.get_by_role("button", name="Resubmit 1 task").click()
    await expect(page.locator("#progress")).to_contain_text("1 done, 0 refused")
    await expect(page.locator("#head")).to_contain_text("done")
    await page.goto(f"{address}/batches")
    await expect(page.locator("#batches")).to_contain_text("Resubmit")
    await page.close()


async def test_new_tasks_wait_behind_a_button_and_keys_walk_the_rows(
    browser: Browser, address: str, client: Client, failed: TaskHandle
) -> None:
    page = await opened(browser, f"{address}/tasks")
    await expect(page.locator("#pulse")).to_contain_text("live")
    await client.submit("approval", id="late-1")
    await expect(page.locator("#new-rows")).to_have_text("1 new")
    await page.locator("#new-rows").click()
    # A key that is pressed before the new page listens is lost.
    await expect(page.locator("#new-rows")).to_have_count(0)
    await expect(page.locator("#pulse")).to_contain_text("live")
    await page.keyboard.press("j")
    await expect(page.locator("tr.here")).to_contain_text("late-1")
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(page).to_have_title("order-1 · shop")
    await expect(page.locator("#pulse")).to_contain_text("live")
    await page.keyboard.press("?")
    await expect(page.locator("#keys")).to_be_visible()
    await page.close()


async def test_text_of_others_runs_nothing_in_a_browser(browser: Browser, address: str, client: Client) -> None:
    task = await client.submit("fulfil", EVIL, id="evil")
    with pytest.raises(Exception, match="refused"):
        await task.result(timeout=30)
    page = await opened(browser, f"{address}/tasks/evil")
    await expect(page.locator("#cause")).to_contain_text("<script>alert(1)</script>")
    await page.goto(f"{address}/tasks")
    await expect(page.locator("#rows")).to_contain_text("<img src=x onerror=alert(2)>")
    await page.close()


async def test_each_page_is_accessible_and_fits_its_width(browser: Browser, address: str, failed: TaskHandle) -> None:
    script = npm_file(AXE)
    found: dict[tuple[str, str, str], list[str]] = {}
    page = await browser.new_page()
    for path in PATHS:
        await page.goto(address + path)
        await page.evaluate(script)
        for scheme, width in LOOKS:
            await page.set_viewport_size({"width": width, "height": 800})
            await page.emulate_media(color_scheme=scheme)
            result = await page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa']})")
            for each in result["violations"]:
                found[path, scheme, each["id"]] = [node["html"][:200] for node in each["nodes"][:3]]
            if await page.evaluate("document.documentElement.scrollWidth") > width:
                found[path, scheme, "too wide"] = []
    await page.close()
    assert found == {}, json.dumps({" ".join(key): nodes for key, nodes in found.items()}, indent=1)
