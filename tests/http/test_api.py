"""What the API does: submit, act, look; in the words of the command line."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from stepward import App, Client, Webhook
from stepward.client import session_of
from tests.until import until

from .conftest import approval, greet, order

PARENT = f"00-{1:032x}-{1:016x}-01"


async def in_state(local: httpx.AsyncClient, id: str, state: str) -> dict[str, Any]:
    async with asyncio.timeout(30):
        while True:
            found: dict[str, Any] = (await local.get(f"/api/v1/tasks/{id}")).json()
            if found["state"] == state:
                return found
            await asyncio.sleep(0.02)


async def test_a_submission_is_accepted_with_its_place(local: httpx.AsyncClient) -> None:
    body = {"workflow": "greet", "arguments": ["Ada"], "labels": {"shop": "north"}}
    answer = await local.post("/api/v1/tasks", json=body, headers={"Idempotency-Key": '"order-1"'})
    assert (answer.status_code, answer.headers["location"]) == (202, "/api/v1/tasks/order-1")
    again = await local.post("/api/v1/tasks", json=body, headers={"Idempotency-Key": "order-1"})
    assert (again.status_code, again.json()["uid"]) == (202, answer.json()["uid"])


async def test_with_prefer_wait_the_result_is_returned(local: httpx.AsyncClient) -> None:
    body = {"workflow": "greet", "arguments": ["Ada"]}
    answer = await local.post("/api/v1/tasks", json=body, headers={"Prefer": "wait=20"})
    assert (answer.status_code, answer.headers["preference-applied"]) == (200, "wait=20")
    assert (answer.json()["state"], answer.json()["output"]) == ("processed", "hello Ada")


@pytest.mark.parametrize("sent", [PARENT, "none of W3C's"])
async def test_a_submission_keeps_the_trace_context_of_its_caller(
    client: Client, local: httpx.AsyncClient, sent: str
) -> None:
    body = {"workflow": "approval", "id": "order-1"}
    assert (await local.post("/api/v1/tasks", json=body, headers={"traceparent": sent})).status_code == 202
    attributes = (await client.task("order-1").status()).attributes
    assert attributes == ({"traceparent": PARENT} if sent == PARENT else {})


async def test_a_live_task_of_the_key_is_a_conflict_or_is_joined(local: httpx.AsyncClient) -> None:
    rule = {"rule": "singleton", "key": "k"}
    body = {"workflow": "approval", "id": "order-1", "per_key": rule}
    assert (await local.post("/api/v1/tasks", json=body)).status_code == 202
    refused = await local.post("/api/v1/tasks", json=body | {"id": "order-2"})
    assert refused.status_code == 409
    assert "found order-1" in refused.json()["detail"]
    joined = await local.post("/api/v1/tasks", json=body | {"id": "order-2", "per_key": rule | {"if_running": "join"}})
    assert (joined.status_code, joined.headers["location"]) == (202, "/api/v1/tasks/order-1")


@pytest.mark.parametrize(
    "rule",
    [
        {"rule": "singleton", "key": "k", "if_running": "wait"},
        {"rule": "debounce", "key": "k", "wait": "5s"},
        {"rule": "throttle", "key": "", "every": "1h"},
        {"rule": "none", "key": "k"},
    ],
)
async def test_what_is_no_rule_for_a_key_is_refused(local: httpx.AsyncClient, rule: dict[str, str]) -> None:
    answer = await local.post("/api/v1/tasks", json={"workflow": "approval", "per_key": rule})
    assert answer.status_code in (400, 422)


async def test_the_same_id_with_other_arguments_is_a_conflict(local: httpx.AsyncClient) -> None:
    for name, status in (("Ada", 202), ("Bob", 409)):
        body = {"workflow": "greet", "arguments": [name], "id": "order-1"}
        assert (await local.post("/api/v1/tasks", json=body)).status_code == status


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"workflow": "greet", "arguments": "Ada"}, 422, "arguments"),
        ({"workflow": "greet", "arguments": [1]}, 422, None),
        ({"workflow": "nothing"}, 422, None),
        ({"workflow": "greet", "arguments": ["Ada"], "more": 1}, 422, "more"),
        ({"workflow": "greet", "arguments": ["Ada"], "id": "a/b"}, 422, "id"),
        ({"workflow": "greet", "arguments": ["Ada"], "priority": 77}, 422, "priority"),
        ({"workflow": "greet", "arguments": ["Ada"], "complete_by": "soon"}, 422, "complete_by"),
        ({"workflow": "greet", "arguments": ["x" * 1_100_000]}, 413, None),
    ],
)
async def test_a_bad_submission_is_refused_and_its_field_named(
    local: httpx.AsyncClient, body: dict[str, Any], status: int, field: str | None
) -> None:
    answer = await local.post("/api/v1/tasks", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    problem = answer.json()
    if field is not None:
        assert any(field in each["field"] or field in each["message"] for each in problem["errors"]), problem
    assert (await local.get("/api/v1/tasks")).json()["tasks"] == []


async def test_a_problem_names_a_parameter_as_it_was_sent(local: httpx.AsyncClient) -> None:
    answer = await local.get("/api/v1/tasks?state=lost")
    assert [each["field"] for each in answer.json()["errors"]] == ["state"]


async def test_what_is_no_json_is_400_and_another_type_415(local: httpx.AsyncClient) -> None:
    send = {"content": b"{", "headers": {"Content-Type": "application/json"}}
    assert (await local.post("/api/v1/tasks", **send)).status_code == 400  # type: ignore[arg-type]
    form = {"content": b"workflow=greet", "headers": {"Content-Type": "text/plain"}}
    assert (await local.post("/api/v1/tasks", **form)).status_code == 415  # type: ignore[arg-type]


async def test_a_body_that_is_too_large_is_413(local: httpx.AsyncClient) -> None:
    answer = await local.post("/api/v1/tasks", content=b" " * 2_000_000, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413


async def test_a_signal_goes_in_and_a_task_is_suspended_and_resumed(client: Client, local: httpx.AsyncClient) -> None:
    await client.submit(approval, id="order-1")
    await in_state(local, "order-1", "waiting")
    assert (await local.post("/api/v1/tasks/order-1/suspend")).status_code == 202
    await in_state(local, "order-1", "suspended")
    assert (await local.post("/api/v1/tasks/order-1/resume")).status_code == 202
    answer = await local.post("/api/v1/tasks/order-1/signals", json={"name": "approved", "payload": 7, "id": "s1"})
    assert answer.json() == {"id": "order-1", "fresh": True}
    assert (await in_state(local, "order-1", "processed"))["output"] == 7


async def test_a_task_in_error_is_repaired_by_hand(client: Client, local: httpx.AsyncClient) -> None:
    await client.submit(order, "bad", id="order-1")
    failed = await in_state(local, "order-1", "error")
    assert failed["error"]["type"] == "StepFailed" or failed["error"]["message"]
    assert (await local.get("/api/v1/tasks/order-1/preview")).json()["step"] == "pay.charge/1"
    done = {"step": "pay.charge/1", "result": "by hand"}
    assert (await local.post("/api/v1/tasks/order-1/mark-done", json=done)).status_code == 202
    assert (await in_state(local, "order-1", "processed"))["output"] == "by hand"
    acts = (await local.get("/api/v1/tasks/order-1/audit")).json()
    assert ("local", "mark_done") in {(act["actor"], act["act"]) for act in acts}
    whats = [entry["what"] for entry in (await local.get("/api/v1/tasks/order-1/history")).json()]
    assert whats[0] == "created"
    assert "mark_done" in whats


async def test_a_kind_of_alerts_is_silenced_until_a_time(local: httpx.AsyncClient) -> None:
    silence = {"kind": "task_error", "workflow": "order", "until": "2h", "note": "we know"}
    assert (await local.post("/api/v1/alerts/silences", json=silence)).status_code == 204
    (found,) = (await local.get("/api/v1/alerts/silences")).json()
    assert (found["kind"], found["workflow"], found["set_by"], found["note"]) == (
        "task_error",
        "order",
        "local",
        "we know",
    )
    for wrong in (
        {"until": "soon"},
        {"until": "40d"},
        {"until": "2000-01-01T00:00:00Z"},
        {"kind": "Nothing such"},
        {"kind": "task_eror"},
    ):
        assert (await local.post("/api/v1/alerts/silences", json=silence | wrong)).status_code == 422
    ended = {"kind": "task_error", "workflow": "order"}
    assert (await local.post("/api/v1/alerts/silences/end", json=ended)).status_code == 204
    assert (await local.post("/api/v1/alerts/silences/end", json=ended)).status_code == 409
    assert (await local.get("/api/v1/alerts/silences")).json() == []


async def test_a_webhook_is_disabled_and_enabled(client: Client, local: httpx.AsyncClient) -> None:
    crm = Webhook(name="crm", description="https://crm.example.com/…")
    await session_of(client).store.supervisor.report_webhooks([crm])
    assert (await local.post("/api/v1/webhooks/crm/enable")).status_code == 409
    assert (await local.post("/api/v1/webhooks/crm/disable?reason=moves")).status_code == 204
    assert (await local.post("/api/v1/webhooks/crm/disable")).status_code == 409
    (found,) = (await local.get("/api/v1/webhooks")).json()
    assert (found["name"], found["state"], found["disabled_by"]) == ("crm", "disabled", "local")
    assert (await local.post("/api/v1/webhooks/crm/enable")).status_code == 204
    acts = [(act["actor"], act["act"]) for act in (await local.get("/api/v1/audit")).json()]
    assert acts == [("local", "enable"), ("local", "reason"), ("local", "disable")]


async def test_the_process_of_an_instance_is_drained_once(client: Client, local: httpx.AsyncClient) -> None:
    instance = next(each.id for each in await client.instances() if each.alive)
    assert (await local.post(f"/api/v1/instances/{instance}/drain?reason=new+host")).status_code == 204
    assert (await local.post(f"/api/v1/instances/{instance}/drain")).status_code in (404, 409)
    assert (await local.post("/api/v1/instances/scheduler-none/drain")).status_code == 404
    acts = (await local.get("/api/v1/audit")).json()
    assert "drain" in {act["act"] for act in acts}


async def test_the_stats_of_an_agent_tell_how_its_attempts_ended(client: Client, local: httpx.AsyncClient) -> None:
    await client.submit(order, "bad", id="order-1")
    await in_state(local, "order-1", "error")
    await (await client.submit(order, "good", id="order-2")).result()
    (found,) = (await local.get("/api/v1/agents/stats")).json()
    assert (found["name"], found["attempts"], found["failed"], found["error_rate"]) == ("pay", 2, 1, 0.5)
    assert 0 <= found["p50_seconds"] <= found["p95_seconds"]


async def test_a_limits_rate_is_set_and_what_is_left_out_stays(client: Client, local: httpx.AsyncClient) -> None:
    await until(client.agents, lambda found: any(agent.name == "pay" for agent in found))
    for body in ({"concurrency": 5, "rate": "20/s", "note": "as agreed"}, {"concurrency": 4}):
        assert (await local.post("/api/v1/limits/agent:pay", json=body)).status_code == 204
    (found,) = (await local.get("/api/v1/limits")).json()
    assert (found["concurrency"], found["rate"], found["declared_rate"]) == (4, "20/1s", None)
    assert (await local.post("/api/v1/limits/agent:pay", json={"rate": None})).status_code == 204
    assert (await local.get("/api/v1/limits")).json()[0]["rate"] is None
    for wrong in ({}, {"rate": "lots"}, {"concurrency": 0}):
        answer = await local.post("/api/v1/limits/agent:pay", json=wrong)
        assert answer.status_code in (409, 422), answer.text
        assert "limit agent:pay" in answer.json()["detail"]


async def test_an_act_that_the_state_forbids_is_a_conflict_in_the_stores_words(
    client: Client, local: httpx.AsyncClient
) -> None:
    await (await client.submit(greet, "Ada", id="order-1")).result()
    answer = await local.post("/api/v1/tasks/order-1/resume")
    assert answer.status_code == 409
    assert "order-1" in answer.json()["detail"]


async def test_an_act_on_what_has_changed_meanwhile_is_refused(client: Client, local: httpx.AsyncClient) -> None:
    await client.submit(approval, id="order-1")
    shown = await local.get("/api/v1/tasks/order-1")
    await in_state(local, "order-1", "waiting")
    waiting = await local.get("/api/v1/tasks/order-1")
    await local.post("/api/v1/tasks/order-1/suspend", headers={"If-Match": waiting.headers["etag"]})
    await in_state(local, "order-1", "suspended")
    stale = await local.post("/api/v1/tasks/order-1/cancel", headers={"If-Match": waiting.headers["etag"]})
    assert (stale.status_code, stale.headers["etag"] != shown.headers["etag"]) == (412, True)
    assert (await in_state(local, "order-1", "suspended"))["state"] == "suspended"


async def test_of_acts_at_once_with_one_etag_one_is_carried_out(client: Client, local: httpx.AsyncClient) -> None:
    await client.submit(order, "bad", id="order-1")
    await in_state(local, "order-1", "error")
    shown = {"If-Match": (await local.get("/api/v1/tasks/order-1")).headers["etag"]}
    sent = [
        local.post(f"/api/v1/tasks/order-1/{act}", headers=shown, json=body, params={"reason": "it is paid"})
        for act, body in (("undo", None), ("cancel", None), ("resubmit", {"doubt": "did_not_happen"})) * 3
    ]
    answers = await asyncio.gather(*sent)
    assert sorted(answer.status_code for answer in answers) == [202] + [412] * 8
    refused = next(answer for answer in answers if answer.status_code == 412)
    assert refused.headers["etag"] != shown["If-Match"]
    assert refused.json()["errors"][0]["field"] == "If-Match"
    acts = (await local.get("/api/v1/tasks/order-1/audit")).json()
    assert [act["details"]["reason"] for act in acts if act["actor"] == "local" and act["act"] != "read_payloads"] == [
        "it is paid"
    ]


async def test_pages_follow_one_another(client: Client, local: httpx.AsyncClient) -> None:
    for number in range(5):
        await client.submit(greet, "Ada", id=f"order-{number}")
    found: list[str] = []
    cursor = ""
    while True:
        page = (await local.get(f"/api/v1/tasks?limit=2{cursor}")).json()
        found += [task["id"] for task in page["tasks"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert sorted(found) == [f"order-{number}" for number in range(5)]


async def test_a_filter_finds_tasks_and_a_bad_one_is_a_problem(client: Client, local: httpx.AsyncClient) -> None:
    for number in range(3):
        await client.submit(greet, "Ada", id=f"order-{number}", attributes={"total": number})
    page = (await local.get("/api/v1/tasks", params={"where": "attr.total >= 1"})).json()
    assert [task["id"] for task in page["tasks"]] == ["order-2", "order-1"]
    refused = await local.get("/api/v1/tasks", params={"where": "stat = 'error'"})
    assert refused.status_code in (400, 422)
    assert "character 1: expected a field, found 'stat'" in refused.text


async def test_status_events_are_sent_until_the_task_ends(client: Client, local: httpx.AsyncClient) -> None:
    await client.submit(approval, id="order-1")
    await in_state(local, "order-1", "waiting")
    following = asyncio.create_task(local.get("/api/v1/tasks/order-1/events"))
    await client.task("order-1").signal("approved", 1)
    answer = await following
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert "event: status" in answer.text
    assert '"state":"processed"' in answer.text


async def test_what_tasks_run_on_is_listed(local: httpx.AsyncClient) -> None:
    assert [agent["name"] for agent in (await local.get("/api/v1/agents")).json()] == ["pay"]
    roles = {instance["role"] for instance in (await local.get("/api/v1/instances")).json()}
    assert roles == {"scheduler", "agent", "supervisor", "submission"} & roles
    for path in ("alerts", "dead-letters", "schedules", "audit"):
        assert (await local.get(f"/api/v1/{path}")).status_code == 200


async def test_an_agent_is_suspended_and_resumed(local: httpx.AsyncClient) -> None:
    body = {"note": "maintenance"}
    assert (await local.post("/api/v1/agents/pay/suspend", json=body)).status_code == 204
    (agent,) = (await local.get("/api/v1/agents")).json()
    assert (agent["state"], agent["suspended_by"], agent["note"]) == ("suspended", "local", "maintenance")
    again = await local.post("/api/v1/agents/pay/suspend", json=body)
    assert (again.status_code, again.json()["detail"]) == (
        409,
        "Agent pay: expected one at work, found it suspended already",
    )
    assert (await local.post("/api/v1/agents/pay/resume")).status_code == 204
    assert (await local.post("/api/v1/agents/none/resume")).status_code == 404


async def test_a_sink_is_tested_and_its_receipt_is_shown(local: httpx.AsyncClient) -> None:
    async with asyncio.timeout(30):
        while not (sinks := (await local.get("/api/v1/alerts/sinks")).json()):  # noqa: ASYNC110  the Supervisor reports nothing here
            await asyncio.sleep(0.05)
    assert [(sink["name"], sink["description"]) for sink in sinks] == [("log", "log: all alerts")]
    answer = await local.post("/api/v1/alerts/sinks/log/test")
    assert answer.status_code == 202
    number = answer.json()["number"]
    async with asyncio.timeout(30):
        while not (receipts := (await local.get(f"/api/v1/alerts/{number}/receipts")).json()):  # noqa: ASYNC110  the Supervisor reports nothing here
            await asyncio.sleep(0.05)
    assert (receipts[0]["sink"], receipts[0]["error"]) == ("log", None)
    assert receipts[0]["raised_at"] is not None
    assert (await local.get("/api/v1/alerts")).json() == []
    assert (await local.post("/api/v1/alerts/sinks/none/test")).status_code == 404


async def test_an_alert_is_acknowledged_once(client: Client, local: httpx.AsyncClient) -> None:
    await client.submit(order, "bad", id="order-1")
    await in_state(local, "order-1", "error")
    (alert,) = (await local.get("/api/v1/alerts")).json()
    assert alert["task_id"] == "order-1"
    assert (await local.get("/api/v1/alerts?task=order-1")).json() == [alert]
    assert (await local.get("/api/v1/alerts?task=none")).status_code == 404
    assert (await local.post(f"/api/v1/alerts/{alert['number']}/acknowledge")).status_code == 204
    assert (await local.get("/api/v1/alerts")).json() == []


async def test_the_application_is_mounted_below_another(app: App) -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    outer: Any = Starlette(routes=[Mount("/ops", app=app.asgi(local_admin=True))])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(outer), base_url="http://localhost") as client:
        answer = await client.post("/ops/api/v1/tasks", json={"workflow": "greet", "arguments": ["Ada"], "id": "o-1"})
        assert answer.headers["location"] == "/ops/api/v1/tasks/o-1"
        assert (await client.get(answer.headers["location"])).status_code == 200
        assert (await client.get("/ops/livez")).status_code == 200
