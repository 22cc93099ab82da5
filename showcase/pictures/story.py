"""Fills the store: orders that end well, and everything that needs an operator."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from showcase.pictures.application import Outside
from stepward import App, Client, Queues, TaskHandle

ENDED_WELL = 320
PATIENCE = 60.0
PAUSE = 0.05
PRODUCTS = ("tent", "stove", "rope", "boots", "lamp")
LONG_ID = "order-2026-11-26-eu-central-warehouse-07-7f3a9c52-58f1-4a3e-9d61-customer-of-the-year"
WORST = "order-2301"
"""The task in error whose page is shown."""


async def play_past(app: App) -> None:
    """Orders that end well, in a process that ends with them."""
    async with app.running(), app.client() as client:
        many = [(f"order-1{number:03}", PRODUCTS[number % len(PRODUCTS)]) for number in range(ENDED_WELL)]
        tasks = [await client.submit("fulfil_order", id, product, 1_900, id=id) for id, product in many]
        for task in tasks:
            await task.result(timeout=PATIENCE)
        for task in tasks[::11]:
            await task.undo()
        await _all(tasks[::11], "undone")


async def play_present(client: Client, store: str) -> None:
    """Everything that a page shows, while the application runs."""
    children = await client.submit("outfit", "expedition-12", id="outfit-12", labels={"customer": "scott"})
    await children.result(timeout=PATIENCE)
    await (await client.submit("import_rows", 120, id="import-5")).result(timeout=PATIENCE)
    Outside.is_bank_away = True
    ids = [WORST, "order-2302", "order-2303", LONG_ID]
    failed = [await _order_of_alice(client, id) for id in ids]
    failed.append(await client.submit("fulfil_plan", "order-2304", "lamp", id="order-2304"))
    failed.append(await client.submit("outfit", "expedition-13", id="outfit-13"))
    await _all(failed, "error")
    Outside.is_bank_away = False
    await _schedules(client)
    await _batches(client)
    await _dead_letter(client, store)
    await _waiting(client)


async def _order_of_alice(client: Client, id: str) -> TaskHandle[Any]:
    labels, until = {"customer": "alice"}, timedelta(hours=2)
    return await client.submit("fulfil_order", id, "tent", 24_900, id=id, labels=labels, complete_by=until)


async def _waiting(client: Client) -> None:
    """A full Agent, a suspended one, tasks that wait for a signal, one that an operator stopped, and a late one."""
    Outside.held = asyncio.Event()
    for number in range(7):
        await client.submit("fulfil_order", f"order-24{number:02}", "boots", 8_900, id=f"order-24{number:02}")
    for number in (1, 2):
        await client.submit("approve", f"order-25{number:02}", id=f"order-25{number:02}")
    stopped = await client.submit("approve", "order-2503", id="order-2503")
    await stopped.suspend()
    await client.submit("approve", "order-2504", id="order-2504", complete_by=timedelta(seconds=75))
    await client.set_limit("agent:payment", 5, note="the bank asked for it")
    await client.suspend_agent("mail", "the provider moves its data centre until 04:00")
    await _until(lambda: _is_full(client))


async def _schedules(client: Client) -> None:
    await client.create_schedule("nightly", "nightly_report", cron="0 2 * * *", timezone="Europe/Berlin")
    await client.create_schedule("hourly-report", "nightly_report", every=timedelta(hours=1))
    await client.create_schedule("opening", "nightly_report", at=datetime.now(UTC) + timedelta(days=3))
    await client.pause_schedule("hourly-report")


async def _batches(client: Client) -> None:
    """One that is done, and one that is paused before it has begun."""
    preview = await client.batches.preview("resubmit", "state = 'error' and workflow = 'fulfil_plan'")
    done = await client.batches.start(preview, rate=20, reason="the bank is mended")
    await _until(lambda: _batch_is(client, done.id, "done"))
    preview = await client.batches.preview("resubmit", "state = 'error' and label.customer = 'alice'")
    slow = await client.batches.start(preview, rate=0.01, reason="slowly: the bank is mended, but weak")
    await client.batches.pause(slow.id)


async def _dead_letter(client: Client, store: str) -> None:
    async with Queues(store, app="shop") as queues:
        await queues.post("orders", {"customer": "ada", "product": "teapot", "quantity": 0}, id="order-2600")
    await _until(client.dead_letters)


async def _batch_is(client: Client, id: str, state: str) -> bool:
    return (await client.batches.get(id)).state == state


async def _is_full(client: Client) -> bool:
    """Whether the Agent of parcels has reported that it has no room, and that steps wait."""
    (parcel,) = [agent for agent in await client.agents() if agent.name == "parcel"]
    return parcel.in_flight == parcel.capacity and parcel.waiting_since is not None


async def _all(tasks: list[TaskHandle[Any]], state: str) -> None:
    for task in tasks:
        await _until(partial(_is, task, state))


async def _is(task: TaskHandle[Any], state: str) -> bool:
    return (await task.status()).state == state


async def _until(look: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await look():  # noqa: ASYNC110  nothing tells of it
            await asyncio.sleep(PAUSE)
