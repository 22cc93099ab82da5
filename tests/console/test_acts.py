from __future__ import annotations

import asyncio

import httpx
import pytest

from stepward import App, Client, TaskHandle, Webhook
from stepward.client import session_of
from stepward.http.access.access_rules import AccessRules
from stepward.model.states import TaskState
from stepward.mounting import mounted
from tests.console.conftest import Bank, SignedIn
from tests.console.forms import act_form, forms_of, send
from tests.http.conftest import caller


async def page_of(browser: httpx.AsyncClient, path: str = "/tasks/order-1") -> str:
    return (await browser.get(path)).text


async def test_a_step_is_resubmitted_with_edited_arguments(
    local: httpx.AsyncClient, client: Client, failed: TaskHandle
) -> None:
    form = act_form(await page_of(local), "resubmit", edited=True)
    assert form.get("value") == '[\n  "bad"\n]'
    answer = await send(local, form, value='["good"]')
    assert (answer.status_code, answer.headers["location"]) == (303, "/tasks/order-1?done=resubmit")
    assert await client.task("order-1").result(timeout=30) == "charged secret-4711"
    acts = [(act.act, act.actor) for act in await client.audits("order-1")]
    assert ("resubmit", "local") in acts
    assert "Resubmitted" in await page_of(local, answer.headers["location"])


async def test_a_step_is_marked_as_done(local: httpx.AsyncClient, client: Client, failed: TaskHandle) -> None:
    form = act_form(await page_of(local), "mark_done", edited=True)
    refused = await send(local, form, value="no json")
    assert refused.status_code == 422 and "expected JSON" in refused.text
    assert (await send(local, form, value='"by hand"')).status_code == 303
    assert await client.task("order-1").result(timeout=30) == "by hand"


async def test_an_update_that_a_task_waits_for_is_asked_for(local: httpx.AsyncClient, client: Client) -> None:
    task = await client.submit("account", id="wait-1")
    async for status in task.events():
        if status.state is TaskState.WAITING:
            break
    page = await page_of(local, "/tasks/wait-1")
    assert "Payload of the update pay" in page and "stepward update wait-1 pay JSON" in page
    rejected = await send(local, act_form(page, "update", edited=True), value="-5")
    assert rejected.status_code == 422 and "expected more than 0, found -5" in rejected.text
    async for status in task.events():
        if status.state is TaskState.WAITING:
            break
    form = act_form(await page_of(local, "/tasks/wait-1"), "update", edited=True)
    answer = await send(local, form, value="5")
    assert (answer.status_code, answer.headers["location"]) == (303, "/tasks/wait-1?done=update")
    assert "The task has accepted the update" in await page_of(local, answer.headers["location"])
    assert await task.result(timeout=30) == 5


async def test_an_ended_task_is_forked_from_a_step(
    local: httpx.AsyncClient, client: Client, failed: TaskHandle, the_bank: Bank
) -> None:
    the_bank.is_mended = True
    page = await page_of(local)
    form = next(
        form for form in forms_of(page) if form.get("verb") == "fork" and form.get("step") == "payment.charge/1"
    )
    answer = await send(local, form)
    path = answer.headers["location"].partition("?")[0]
    assert answer.status_code == 303 and path != "/tasks/order-1"
    assert await client.task(path.removeprefix("/tasks/")).result(timeout=30) == "charged secret-4711"
    made = await page_of(local, answer.headers["location"])
    assert "Forked from" in made and "/tasks/order-1" in made and "This is the new task" in made
    assert path in await page_of(local)


async def test_an_act_on_an_old_picture_is_refused_and_changes_nothing(
    local: httpx.AsyncClient, client: Client, failed: TaskHandle
) -> None:
    form = act_form(await page_of(local), "undo")
    await client.task("order-1").resubmit(input=["good"])
    await client.task("order-1").result(timeout=30)
    answer = await send(local, form)
    assert answer.status_code == 409
    assert "Nothing was done: it has changed meanwhile" in answer.text
    assert 'href="/tasks/order-1"' in answer.text
    assert (await client.task("order-1").status()).state is TaskState.PROCESSED


async def test_of_two_acts_on_one_picture_the_second_is_refused(
    local: httpx.AsyncClient, client: Client, failed: TaskHandle
) -> None:
    page = await page_of(local)
    forms = [act_form(page, "undo"), act_form(page, "resubmit", edited=True)]
    answers = await asyncio.gather(
        send(local, forms[0], reason="the customer left"), send(local, forms[1], value='["good"]')
    )
    assert sorted(answer.status_code for answer in answers) == [303, 409]
    acts = [act.act for act in await client.audits("order-1") if act.actor == "local" and act.act != "read_payloads"]
    assert len(acts) == 1
    if acts == ["undo"]:
        assert "the customer left" in await page_of(local)


@pytest.mark.parametrize("token", ["", "0" * 64])
async def test_a_form_of_another_page_is_refused(
    local: httpx.AsyncClient, client: Client, failed: TaskHandle, token: str
) -> None:
    form = act_form(await page_of(local), "undo")
    assert (await send(local, form, csrf_token=token)).status_code == 403
    assert (await client.task("order-1").status()).state is TaskState.ERROR


async def test_no_act_is_carried_out_by_a_link(local: httpx.AsyncClient, failed: TaskHandle) -> None:
    for path in ("/tasks/order-1/act", "/agents/act", "/alerts/act", "/tasks/preview", "/dead-letters/act"):
        assert (await local.get(path, params={"verb": "undo"})).status_code in (404, 405), path


async def test_a_viewer_cannot_act(
    remote: httpx.AsyncClient, client: Client, failed: TaskHandle, signed_in: SignedIn
) -> None:
    answer = await remote.post("/tasks/order-1/act", headers=await signed_in("viewer"), data={"verb": "undo"})
    assert answer.status_code == 403
    assert (await client.task("order-1").status()).state is TaskState.ERROR


async def test_an_agent_is_suspended_and_resumed(local: httpx.AsyncClient, client: Client, done: TaskHandle) -> None:
    def form(page: str) -> object:
        return next(each for each in forms_of(page) if each.get("name") == "payment")

    stop = form(await page_of(local, "/agents"))
    assert (await send(local, stop, verb="suspend", note="moves")).status_code == 303  # type: ignore[arg-type]
    page = await page_of(local, "/agents")
    assert "suspended 0s by local: moves" in page
    assert (await send(local, stop, verb="suspend")).status_code == 409  # type: ignore[arg-type]
    assert (await send(local, form(page), verb="resume")).status_code == 303  # type: ignore[arg-type]
    assert {agent.name: agent.state for agent in await client.agents()}["payment"] == "ok"


async def test_an_alert_is_acknowledged(local: httpx.AsyncClient, client: Client, failed: TaskHandle) -> None:
    form = next(each for each in forms_of(await page_of(local, "/alerts")) if each.get("ids"))
    assert (await send(local, form)).status_code == 303
    assert await client.alerts() == []
    assert (await send(local, form)).status_code == 409


async def test_a_kind_of_alerts_is_silenced_for_a_time_and_sent_again(
    local: httpx.AsyncClient, client: Client, failed: TaskHandle
) -> None:
    form = next(each for each in forms_of(await page_of(local, "/alerts")) if each.action == "/alerts/silence")
    assert (form.get("kind"), form.get("until")) == ("task_error", "2h")
    answer = await send(local, form, verb="silence", workflow="fulfil", note="the bank knows")
    assert (answer.status_code, answer.headers["location"]) == (303, "/alerts?done=silence")
    (found,) = await client.alert_sinks.silences()
    assert (found.kind, found.workflow, found.set_by, found.note) == ("task_error", "fulfil", "local", "the bank knows")
    page = await page_of(local, "/alerts")
    assert "Silent now" in page and "the bank knows" in page
    assert (await send(local, form, verb="silence", until="soon")).status_code == 422
    form = next(each for each in forms_of(page) if ("verb", "unsilence") in each.buttons)
    assert (await send(local, form, verb="unsilence")).status_code == 303
    assert await client.alert_sinks.silences() == []
    assert (await send(local, form, verb="unsilence")).status_code == 409


async def test_a_webhook_is_disabled_and_enabled(local: httpx.AsyncClient, client: Client) -> None:
    assert "Where status events go" not in await page_of(local, "/alerts")
    crm = Webhook(name="crm", description="https://crm.example.com/…", error="refused")
    await session_of(client).store.supervisor.report_webhooks([crm])
    form = next(each for each in forms_of(await page_of(local, "/alerts")) if each.action == "/alerts/webhook")
    answer = await send(local, form, verb="disable")
    assert (answer.status_code, answer.headers["location"]) == (303, "/alerts?done=disable_webhook")
    page = await page_of(local, "/alerts?done=disable_webhook")
    assert "by local" in page and "The webhook is disabled" in page
    assert (await send(local, form, verb="disable")).status_code == 409
    form = next(each for each in forms_of(page) if ("verb", "enable") in each.buttons)
    assert (await send(local, form, verb="enable")).status_code == 303
    assert [webhook.state for webhook in await client.webhooks()] == ["enabled"]


async def test_a_sink_of_alerts_is_tested_with_a_button(local: httpx.AsyncClient, client: Client) -> None:
    async with asyncio.timeout(30):
        while "Where alerts go" not in (page := await page_of(local, "/alerts")):  # noqa: ASYNC110  the Supervisor reports nothing here
            await asyncio.sleep(0.05)
    form = next(each for each in forms_of(page) if each.get("name") == "log")
    assert (form.action, (await send(local, form)).status_code) == ("/alerts/test", 303)
    assert (await send(local, form, name="none")).status_code == 409
    async with asyncio.timeout(30):
        while ">taken " not in await page_of(local, "/alerts"):  # noqa: ASYNC110  the Supervisor reports nothing here
            await asyncio.sleep(0.05)
    assert next(audit.act for audit in await client.audits()) == "test"


async def test_acts_on_many_are_shown_first_and_confirmed_by_their_number(
    local: httpx.AsyncClient, client: Client, failed: TaskHandle, done: TaskHandle
) -> None:
    form = next(each for each in forms_of(await page_of(local, "/tasks")) if each.action == "/tasks/preview")
    token = form.get("csrf_token") or ""
    chosen = {"csrf_token": token, "verb": "undo", "ids": ["order-1", "order-2", "none-such"]}
    preview = await local.post("/tasks/preview", data=chosen)
    assert preview.status_code == 200
    assert "Undo 2 tasks?" in preview.text and "1 task would refuse it" in preview.text
    assert "2 steps will be taken back" in preview.text
    (confirmed,) = forms_of(preview.text)
    assert (await send(local, confirmed, typed="3")).status_code == 422
    assert (await client.task("order-2").status()).state is TaskState.PROCESSED
    answer = await send(local, confirmed, typed="2")
    assert answer.status_code == 200 and "done for 2 tasks" in answer.text
    for id in ("order-1", "order-2"):
        with pytest.raises(Exception, match="undone"):
            await client.task(id).result(timeout=30)


async def test_what_cannot_be_taken_back_needs_an_admin_on_pages_too(
    remote: httpx.AsyncClient, client: Client, signed_in: SignedIn
) -> None:
    operator, admin = await signed_in("operator"), await signed_in("admin")
    for path, data in (
        ("/schedules/act", {"verb": "remove", "name": "nightly", "typed": "nightly"}),
        ("/dead-letters/act", {"verb": "discard", "ids": "1", "typed": "1"}),
    ):
        refused = await remote.post(path, headers=operator, data=data)
        assert refused.status_code == 403 and "permission administer" in refused.text, path
        assert (await remote.post(path, headers=admin, data=data)).status_code in (404, 409), path


async def test_an_act_is_proposed_on_a_page_and_confirmed_by_another_person(
    app: App, client: Client, done: TaskHandle, signed_in: SignedIn
) -> None:
    rules = AccessRules(two_person=True)
    async with caller(mounted(app.client, rules)) as web:
        ada, bob = await signed_in("operator", payloads=True), await signed_in("admin", payloads=True)
        version = act_form((await web.get("/tasks/order-2", headers=ada)).text, "undo").get("version")
        asked = {"verb": "undo", "version": version, "reason": "it was a test"}
        answer = await web.post("/tasks/order-2/act", headers=ada, data=asked)
        assert answer.headers["location"] == "/tasks/order-2?done=propose"
        own = (await web.get("/tasks/order-2", headers=ada)).text
        assert "another person has to confirm it" in own and 'value="confirm"' in own
        assert "Undo: confirm" not in own
        form = act_form((await web.get("/tasks/order-2", headers=bob)).text, "confirm")
        sent = await web.post(form.action, headers=bob, data=dict(form.fields))
        assert sent.headers["location"] == "/tasks/order-2?done=confirm"
    with pytest.raises(Exception, match="undone"):
        await client.task("order-2").result(timeout=30)


async def test_an_instance_is_drained_with_a_button(local: httpx.AsyncClient, client: Client) -> None:
    forms = [form for form in forms_of(await page_of(local, "/instances")) if form.action == "/instances/drain"]
    live = [instance for instance in await client.instances() if instance.alive]
    assert {form.get("id") for form in forms} == {instance.id for instance in live}
    answer = await send(local, forms[0])
    assert (answer.status_code, answer.headers["location"]) == (303, "/instances?done=drain")
    assert (await send(local, forms[0])).status_code in (404, 409)
    acts = [audit for audit in await client.audits() if audit.act == "drain"]
    assert [audit.actor for audit in acts] == ["local"]
    assert (forms[0].get("id") or "none").encode() in acts[0].details


async def test_a_schedule_is_run_now_and_caught_up_with(local: httpx.AsyncClient, client: Client) -> None:
    await client.create_schedule("nightly", "fulfil", ["good"], every="1h", start="2026-01-01T00:00:00Z")
    page = await page_of(local, "/schedules")
    (first, second) = [form for form in forms_of(page) if form.get("name") == "nightly"][:2]
    answer = await send(local, first, verb="trigger")
    assert answer.status_code == 303 and answer.headers["location"].startswith("/tasks/nightly@")
    assert (await local.get(answer.headers["location"].partition("?")[0])).status_code == 200
    ranged = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T02:30:00Z"}
    answer = await send(local, second, verb="backfill", **ranged)
    assert answer.headers["location"] == "/schedules?done=backfill_schedule"
    made = [task.id for task in await client.tasks(workflow="fulfil") if "2026-01-01" in task.id]
    assert len(made) == 3
    assert (await send(local, second, verb="backfill", **ranged | {"end": "soon"})).status_code == 422


async def test_alerts_show_which_sinks_have_them(local: httpx.AsyncClient, client: Client, failed: TaskHandle) -> None:
    async with asyncio.timeout(30):
        while "sent to log" not in await page_of(local, "/alerts"):  # noqa: ASYNC110  the Supervisor reports nothing here
            await asyncio.sleep(0.1)


async def test_settings_list_the_tokens_for_admins_alone(
    local: httpx.AsyncClient, remote: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    operator, admin = await signed_in("operator"), await signed_in("admin")
    page = (await remote.get("/settings", headers=admin)).text
    assert "API tokens" in page and "operator" in page.partition('id="tokens"')[2]
    assert "secret" not in page.partition('id="tokens"')[2]
    assert "API tokens" not in (await remote.get("/settings", headers=operator)).text
