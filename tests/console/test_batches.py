"""Acts in bulk from the list of tasks: preview, typed number, progress, pause and stop."""

from __future__ import annotations

import httpx
import pytest

from stepward import Client, TaskHandle
from stepward.store.contract import BATCH_ENDS
from tests.console.conftest import EVIL, SignedIn
from tests.console.forms import Form, forms_of, send
from tests.until import until

ERRORS = "state = 'error'"


async def list_form(browser: httpx.AsyncClient, where: str = ERRORS) -> Form:
    page = (await browser.get("/tasks", params={"where": where})).text
    return next(form for form in forms_of(page) if form.action == "/batches/preview")


async def previewed(browser: httpx.AsyncClient, verb: str, **changed: str) -> tuple[str, Form | None]:
    answer = await send(browser, await list_form(browser), verb=verb, **changed)
    assert answer.status_code == 200
    return answer.text, next((form for form in forms_of(answer.text) if form.action == "/batches/start"), None)


async def test_all_that_match_are_previewed_started_and_followed(
    local: httpx.AsyncClient, client: Client, failed: TaskHandle
) -> None:
    page, start = await previewed(local, "cancel")
    assert "Cancel 1 task?" in page
    assert "it takes the act" in page
    assert start is not None
    answer = await send(local, start, typed="1", rate="500", reason="over")
    assert answer.status_code == 303
    path = answer.headers["location"].partition("?")[0]
    (batch,) = await client.batches.recent()
    assert path == f"/batches/{batch.id}"
    await until(lambda: client.batches.get(batch.id), lambda found: found.state in BATCH_ENDS)
    page = (await local.get(path)).text
    assert "1 done, 0 refused, 100.0% asked" in page
    assert "over" in page
    assert f'href="{path}"' in (await local.get("/batches")).text


async def test_nothing_starts_unless_the_number_is_typed(
    local: httpx.AsyncClient, client: Client, failed: TaskHandle
) -> None:
    _, start = await previewed(local, "undo")
    assert start is not None
    for typed in ("", "2", "all"):
        answer = await send(local, start, typed=typed)
        assert answer.status_code == 422
    assert (await send(local, start, typed="1", where="created <= now")).status_code == 422
    assert (await send(local, start, typed="1", csrf_token="")).status_code == 403
    assert await client.batches.recent() == []


async def test_a_resubmission_is_given_a_priority_before_it_starts(
    local: httpx.AsyncClient, client: Client, failed: TaskHandle
) -> None:
    page, _ = await previewed(local, "resubmit")
    again = next(form for form in forms_of(page) if form.action == "/batches/preview")
    refused = await send(local, again, priority="12")
    assert refused.status_code == 422 and "priority: expected 0" in refused.text
    answer = await send(local, again, priority="9", complete_by="1h")
    start = next(form for form in forms_of(answer.text) if form.action == "/batches/start")
    assert (await send(local, start, typed="1", rate="500")).status_code == 303
    (batch,) = await client.batches.recent()
    assert (batch.parameters.priority, batch.parameters.complete_seconds) == (9, 3600.0)


async def test_a_batch_is_paused_paced_resumed_and_stopped_on_its_page(
    local: httpx.AsyncClient, client: Client, failed: TaskHandle
) -> None:
    found = await client.batches.preview("suspend", "created <= now")
    batch = await client.batches.start(found, rate=0.01)
    await client.batches.pause(batch.id)
    page = (await local.get(f"/batches/{batch.id}")).text
    pace, steer = forms_of(page)
    assert [value for _, value in steer.buttons] == ["resume", "stop"]
    assert (await send(local, pace, verb="pace", rate="0.02")).status_code == 303
    assert (await send(local, steer, verb="resume")).status_code == 303
    assert (await send(local, steer, verb="stop")).status_code == 303
    assert (await client.batches.get(batch.id)).rate == 0.02
    assert forms_of((await local.get(f"/batches/{batch.id}")).text) == []
    assert (await send(local, steer, verb="stop")).status_code == 409


async def test_who_may_not_act_is_offered_nothing(
    remote: httpx.AsyncClient, client: Client, failed: TaskHandle, signed_in: SignedIn
) -> None:
    batch = await client.batches.start(await client.batches.preview("suspend", ERRORS), rate=0.01)
    headers = await signed_in("viewer")
    assert forms_of((await remote.get("/tasks", params={"where": ERRORS}, headers=headers)).text) == []
    page = await remote.get(f"/batches/{batch.id}", headers=headers)
    assert page.status_code == 200 and "/act" not in page.text
    stop = await remote.post(f"/batches/{batch.id}/act", data={"verb": "stop"}, headers=headers)
    assert stop.status_code == 403


@pytest.mark.parametrize("path", ["/batches", "/batches/{id}"])
async def test_what_is_shown_of_a_batch_is_escaped(
    local: httpx.AsyncClient, client: Client, failed: TaskHandle, path: str
) -> None:
    evil = "".join(each for each in EVIL if each.isprintable())
    quoted = evil.replace("'", "''")
    found = await client.batches.preview("suspend", f"attr.a = '{quoted}' or created <= now")
    batch = await client.batches.start(found, rate=0.01, reason=evil)
    page = (await local.get(path.format(id=batch.id))).text
    assert "<script>alert(1)" not in page
    assert "<img src=x" not in page


async def test_the_tasks_that_refused_are_asked_again_from_the_page_of_their_batch(
    local: httpx.AsyncClient, client: Client, failed: TaskHandle
) -> None:
    batch = await client.batches.start(await client.batches.preview("resume", ERRORS), rate=500)
    await until(lambda: client.batches.get(batch.id), lambda found: found.state in BATCH_ENDS)
    page = (await local.get(f"/batches/{batch.id}")).text
    again = next(form for form in forms_of(page) if form.action == "/batches/preview")
    assert (again.get("verb"), again.get("where")) == ("resume", "id in ('order-1')")
    preview = await send(local, again)
    assert preview.status_code == 200 and "Resume 1 task?" in preview.text
