"""Payloads are shown to permitted principals, each reading is audited, and no other response holds a trace of one."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from stepward import Client, TaskFailed

from .conftest import Minted, approval, order
from .test_access_matrix import VALUES

CANARY = "secret-4711"
READS = (
    "/api/v1/tasks",
    "/api/v1/tasks/order-1",
    "/api/v1/tasks/order-1/steps",
    "/api/v1/tasks/order-1/history",
    "/api/v1/tasks/order-1/audit",
    "/api/v1/tasks/order-1/events",
    "/api/v1/tasks/order-1/preview",
    "/api/v1/tasks/order-1/diagnosis",
    "/api/v1/alerts",
    "/api/v1/audit",
    "/api/v1/schedules",
    "/api/v1/dead-letters",
    "/api/v1/agents",
    "/api/v1/instances",
)


@pytest.fixture
async def failed(client: Client) -> None:
    """A task in error whose error quotes a payload, and one whose repair holds one."""
    handle = await client.submit(order, "bad", id="order-1")
    with pytest.raises(TaskFailed):
        async with asyncio.timeout(30):
            await handle.result()
    await handle.resubmit(input=[f"bad {CANARY}"], doubt="did_not_happen")
    waiting = await client.submit(approval, id="order-2")
    await waiting.signal("approved", CANARY, by="test")


async def test_no_read_shows_a_payload_to_who_may_not_see_it(
    client: Client, remote: httpx.AsyncClient, failed: None, minted: Minted
) -> None:
    hidden, shown = await minted("admin", "hidden"), await minted("admin", "shown", payloads=True)
    for path in READS:
        answer = await remote.get(path, headers=hidden)
        assert answer.status_code == 200, path
        assert CANARY not in answer.text, path
    assert CANARY in (await remote.get("/api/v1/tasks/order-1/steps", headers=shown)).text
    assert CANARY in (await remote.get("/api/v1/alerts?open_only=false", headers=shown)).text


async def test_showing_payloads_is_audited_once(
    client: Client, remote: httpx.AsyncClient, failed: None, minted: Minted
) -> None:
    hidden, shown = await minted("viewer", "hidden"), await minted("viewer", "shown", payloads=True)
    for _ in range(3):
        await remote.get("/api/v1/tasks/order-1", headers=hidden)
        await remote.get("/api/v1/tasks/order-1", headers=shown)
        await remote.get("/api/v1/tasks/order-1/steps", headers=shown)
    acts = [(act.actor, act.task_id) for act in await client.audits() if act.act == "read_payloads"]
    assert acts == [("token:shown", "order-1")]


async def test_showing_a_list_that_quotes_payloads_is_audited_once(
    client: Client, remote: httpx.AsyncClient, failed: None, minted: Minted
) -> None:
    with pytest.raises(TaskFailed):
        await (await client.submit(order, "bad", id="order-3")).result()
    hidden, shown = await minted("viewer", "hidden"), await minted("viewer", "shown", payloads=True)
    for path in ("tasks", "alerts?open_only=false", "audit", "dead-letters", "schedules"):
        for headers in (hidden, shown, shown):
            assert (await remote.get(f"/api/v1/{path}", headers=headers)).status_code == 200
    reads = [(act.actor, act.details) for act in await client.audits() if act.act == "read_payloads"]
    assert reads[::-1] == [("token:shown", f'{{"list":"{name}"}}'.encode()) for name in ("tasks", "alerts", "audit")]


async def test_every_act_is_audited_under_the_principals_name(
    client: Client, remote: httpx.AsyncClient, minted: Minted
) -> None:
    headers = await minted("admin", "ada")
    body = {"workflow": "approval", "id": "order-1"}
    assert (await remote.post("/api/v1/tasks", json=body, headers=headers)).status_code == 202
    for act, sent in (("suspend", None), ("resume", None), ("signals", {"name": "go"}), ("cancel", None)):
        answer = await remote.post(f"/api/v1/tasks/order-1/{act}", json=sent, headers=headers)
        assert answer.status_code == 202, answer.text
    await remote.post("/api/v1/agents/pay/suspend", json={}, headers=headers)
    acts = [act.act for act in await client.audits() if act.actor == "token:ada"]
    assert sorted(acts) == ["cancel", "resume", "signal", "submit", "suspend", "suspend"]


async def test_refused_requests_are_audited_and_cannot_flood_the_audit(
    client: Client, remote: httpx.AsyncClient, minted: Minted
) -> None:
    headers = await minted("viewer", "bob")
    for _ in range(50):
        assert (await remote.post("/api/v1/tasks", json={"workflow": "greet"}, headers=headers)).status_code == 403
    refused = [act for act in await client.audits() if act.act == "refused"]
    assert len(refused) == 30
    assert {act.actor for act in refused} == {"token:bob"}


async def test_a_request_for_a_task_out_of_scope_is_audited(
    client: Client, remote: httpx.AsyncClient, minted: Minted
) -> None:
    await client.submit(approval, id="order-1")
    headers = await minted("viewer", "bob", workflows=["other"])
    assert (await remote.get("/api/v1/tasks/order-1", headers=headers)).status_code == 404
    assert (await remote.get("/api/v1/tasks/order-9", headers=headers)).status_code == 404
    refused = [(act.actor, act.task_id) for act in await client.audits() if act.act == "refused"]
    assert refused == [("token:bob", "order-1")]


def test_the_task_of_the_matrix_is_the_one_of_these_paths() -> None:
    assert VALUES["{task_id:str}"] == "order-1"
