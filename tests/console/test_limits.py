"""The limit of an Agent, set and reset on the console's page of Agents."""

from __future__ import annotations

import httpx
import pytest

from stepward import Client
from stepward.client import LimitStatus
from tests.console.conftest import Bank, SignedIn
from tests.console.forms import Form, forms_of, send
from tests.until import until


async def page_of(local: httpx.AsyncClient) -> str:
    return (await local.get("/agents")).text


def limit_form(page: str, agent: str = "payment") -> Form:
    found = [form for form in forms_of(page) if form.get("name") == agent and form.get("concurrency") is not None]
    assert len(found) == 1
    return found[0]


async def limit_of(client: Client) -> LimitStatus | None:
    return next((limit for limit in await client.limits() if limit.name == "agent:payment"), None)


async def test_a_limit_is_set_and_reset_with_its_reason_in_the_audit(local: httpx.AsyncClient, client: Client) -> None:
    await until(client.agents, lambda found: any(agent.name == "payment" for agent in found))
    page = await page_of(local)
    assert "No limit over all processes" in page
    answer = await send(local, limit_form(page), verb="set_limit", concurrency="5", note="the bank asked for it")
    assert (answer.status_code, answer.headers["location"]) == (303, "/agents?done=set_limit")
    limit = await limit_of(client)
    assert limit is not None
    assert (limit.concurrency, limit.set_by, limit.note) == (5, "local", "the bank asked for it")
    page = await page_of(local)
    assert "At most <strong>5</strong> calls at once" in page and "by local: the bank asked for it" in page
    assert (await send(local, limit_form(page), verb="reset_limit")).status_code == 303
    assert "No limit over all processes" in await page_of(local)
    acts = [audit for audit in await client.audits() if audit.actor == "local" and audit.act in ("set", "reset")]
    assert [audit.act for audit in acts] == ["reset", "set"]
    assert b"the bank asked for it" in acts[1].details


async def test_a_rate_is_set_beside_the_number_and_taken_away_by_itself(
    local: httpx.AsyncClient, client: Client
) -> None:
    await until(client.agents, lambda found: any(agent.name == "payment" for agent in found))
    form = limit_form(await page_of(local))
    assert (await send(local, form, verb="set_limit", concurrency="5", rate="20/s")).status_code == 303
    limit = await limit_of(client)
    assert limit is not None and (limit.concurrency, limit.rate) == (5, "20/1s")
    page = await page_of(local)
    assert "At most <strong>20/1s</strong> calls started" in page and "the code declares no rate" in page
    form = limit_form(page)
    assert (form.get("concurrency"), form.get("rate")) == ("5", "20/1s")
    assert (await send(local, form, verb="set_limit", rate="lots")).status_code == 422
    assert (await send(local, form, verb="set_limit", rate="")).status_code == 303
    limit = await limit_of(client)
    assert limit is not None and (limit.concurrency, limit.rate) == (5, None)


@pytest.mark.parametrize("number", ["", "0", "-1", "many", "1000000"])
async def test_a_number_that_no_limit_can_have_is_refused(
    local: httpx.AsyncClient, client: Client, number: str
) -> None:
    await until(client.agents, lambda found: any(agent.name == "payment" for agent in found))
    answer = await send(local, limit_form(await page_of(local)), verb="set_limit", concurrency=number)
    assert answer.status_code == 422, answer.text
    limit = await limit_of(client)
    assert limit is None or limit.set_at is None


async def test_a_limit_on_a_page_that_is_out_of_date_is_refused(local: httpx.AsyncClient, client: Client) -> None:
    await until(client.agents, lambda found: any(agent.name == "payment" for agent in found))
    form = limit_form(await page_of(local))
    await client.set_limit("agent:payment", 7)
    assert (await send(local, form, verb="set_limit", concurrency="2")).status_code == 409
    limit = await limit_of(client)
    assert limit is not None and limit.concurrency == 7


async def test_a_viewer_sees_a_limit_and_cannot_set_it(
    remote: httpx.AsyncClient, client: Client, signed_in: SignedIn
) -> None:
    await client.set_limit("agent:payment", 7)
    viewer = await signed_in("viewer")
    page = (await remote.get("/agents", headers=viewer)).text
    assert "At most <strong>7</strong> calls at once" in page and "Set the limit" not in page
    data = {"verb": "set_limit", "name": "payment", "concurrency": "1"}
    assert (await remote.post("/agents/act", headers=viewer, data=data)).status_code == 403


async def test_a_limit_that_is_raised_lets_steps_that_wait_start(
    local: httpx.AsyncClient, client: Client, the_bank: Bank
) -> None:
    the_bank.is_held = True
    await until(client.agents, lambda found: any(agent.name == "payment" for agent in found))
    await send(local, limit_form(await page_of(local)), verb="set_limit", concurrency="1")
    # Until an Agent has read its limit, within a second, it has none.
    await until(client.agents, lambda found: any(agent.name == "payment" and agent.capacity == 1 for agent in found))
    tasks = [await client.submit("fulfil", "good", id=f"order-{number}") for number in range(4)]

    async def running() -> int:
        return the_bank.running

    await until(running, lambda count: count == 1)
    await send(local, limit_form(await page_of(local)), verb="set_limit", concurrency="3")
    await until(running, lambda count: count == 3)
    the_bank.answers.set()
    for task in tasks:
        await task.result(timeout=30)
