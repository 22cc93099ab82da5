"""What a task publishes and streams, and its history, on its page."""

from __future__ import annotations

import httpx

from stepward import Client, TaskHandle
from tests.console.conftest import EVIL, SignedIn
from tests.until import until


async def narrated(client: Client, first: str = "order-7") -> TaskHandle:
    """A task that has published and streamed, and waits to be let on."""
    task = await client.submit("narrate", id=first)
    await until(task.status, lambda status: status.waits_for == "signal go")
    return task


async def test_published_values_and_streams_are_on_the_page_of_their_task(
    local: httpx.AsyncClient, client: Client
) -> None:
    task = await narrated(client)
    page = (await local.get("/tasks/order-7")).text
    assert "Live values" in page and "stream of 1 value" in page
    assert "&#34;done&#34;: 1" in page and "the first line" in page
    await task.signal("go")
    await until(task.status, lambda status: status.waits_for == "signal end")
    page = (await local.get("/tasks/order-7")).text
    assert "stream of 2 values" in page and "&#34;done&#34;: 2" in page
    assert EVIL not in page and "the second line" in page


async def test_live_values_are_a_lock_for_a_role_that_may_not_see_them(
    remote: httpx.AsyncClient, client: Client, signed_in: SignedIn
) -> None:
    await narrated(client)
    page = (await remote.get("/tasks/order-7", headers=await signed_in("operator", payloads=False))).text
    assert "Live values" in page and "stream of 1 value" in page
    assert "the first line" not in page and "&#34;done&#34;: 1" not in page


async def test_a_task_that_has_written_nothing_has_no_such_section(local: httpx.AsyncClient, done: TaskHandle) -> None:
    assert "Live values" not in (await local.get("/tasks/order-2")).text


async def test_the_history_is_on_the_page_with_acts_and_ends_newest_first(
    local: httpx.AsyncClient, client: Client, failed: TaskHandle
) -> None:
    page = (await local.get("/tasks/order-1")).text
    history = page.partition('id="history"')[2].partition("</section>")[0]
    events = ["ended", "step ended", "step started", "created"]
    places = [history.index(f'<th scope="row">{event}</th>') for event in events]
    assert places == sorted(places)
    assert "payment.charge/1" in history and "failed" in history
