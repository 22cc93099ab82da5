"""The limits of workflows, set and reset on their page of the console."""

from __future__ import annotations

import httpx
import pytest

from stepward import Client
from stepward.client import LimitStatus
from tests.console.conftest import SignedIn
from tests.console.forms import Form, forms_of, send


async def page_of(local: httpx.AsyncClient) -> str:
    return (await local.get("/limits")).text


async def form_of(local: httpx.AsyncClient, workflow: str | None = None) -> Form:
    """The form on a workflow's limit; without a workflow the one on another."""
    found = [form for form in forms_of(await page_of(local)) if form.action == "/limits/act"]
    return next(form for form in found if (form.get("name") or None) == workflow)


async def limit_of(client: Client, workflow: str = "fulfil") -> LimitStatus | None:
    return next((limit for limit in await client.limits() if limit.name == f"workflow:{workflow}"), None)


async def test_a_workflow_is_limited_and_its_limit_changed_and_reset(local: httpx.AsyncClient, client: Client) -> None:
    assert "No workflow has a limit." in await page_of(local)
    form = await form_of(local)
    answer = await send(local, form, verb="set_limit", name="fulfil", concurrency="3", note="the bank is slow")
    assert (answer.status_code, answer.headers["location"]) == (303, "/limits?done=set_limit")
    limit = await limit_of(client)
    assert limit is not None
    assert (limit.concurrency, limit.rate, limit.set_by, limit.note) == (3, None, "local", "the bank is slow")
    assert "by local: the bank is slow" in await page_of(local)
    form = await form_of(local, "fulfil")
    assert (await send(local, form, verb="set_limit", concurrency="", rate="20/s")).status_code == 303
    limit = await limit_of(client)
    assert limit is not None and (limit.concurrency, limit.rate) == (None, "20/1s")
    assert (await send(local, await form_of(local, "fulfil"), verb="reset_limit")).status_code == 303
    limit = await limit_of(client)
    assert limit is None or limit.set_at is None


async def test_a_form_that_was_decided_on_another_limit_is_refused(local: httpx.AsyncClient, client: Client) -> None:
    await client.set_limit("workflow:fulfil", 3)
    form = await form_of(local, "fulfil")
    await client.set_limit("workflow:fulfil", 4)
    assert (await send(local, form, verb="set_limit", concurrency="9")).status_code == 409
    limit = await limit_of(client)
    assert limit is not None and limit.concurrency == 4


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": "fulfill", "concurrency": "3"}, "did you mean &#39;fulfil&#39;?"),
        ({"name": "fulfil"}, "expected a number of those at once or a rate, found neither"),
        ({"name": "fulfil", "rate": "lots"}, "expected (count, time) or text like &#39;50/s&#39;"),
    ],
)
async def test_what_is_no_limit_is_refused_in_one_line(
    local: httpx.AsyncClient, client: Client, fields: dict[str, str], words: str
) -> None:
    answer = await send(local, await form_of(local), verb="set_limit", **fields)
    assert answer.status_code in (404, 422)
    assert words in answer.text
    assert await limit_of(client) is None


async def test_a_viewer_sees_limits_and_sets_none(
    remote: httpx.AsyncClient, client: Client, signed_in: SignedIn
) -> None:
    await client.set_limit("workflow:fulfil", 3)
    viewer = await signed_in("viewer")
    page = (await remote.get("/limits", headers=viewer)).text
    assert "fulfil" in page and "Set the limit" not in page
    data = {"verb": "set_limit", "name": "fulfil", "concurrency": "1"}
    assert (await remote.post("/limits/act", headers=viewer, data=data)).status_code == 403
