"""Forks over HTTP: a new task with its Location, and the provenance of both."""

from __future__ import annotations

import httpx
import pytest

from stepward import Client, TaskFailed

from .conftest import Minted


async def test_an_ended_task_is_forked(client: Client, local: httpx.AsyncClient) -> None:
    with pytest.raises(TaskFailed):
        await (await client.submit("order", "bad", id="order-1")).result()
    asked = {"from_step": "pay.charge/1", "arguments": ["good"], "id": "order-2"}
    made = await local.post("/api/v1/tasks/order-1/fork", json=asked, params={"reason": "another card"})
    assert (made.status_code, made.json()) == (202, {"id": "order-2", "origin": "order-1"})
    assert made.headers["Location"] == "/api/v1/tasks/order-2"
    assert await client.task("order-2").result(timeout=30) == "charged good"
    of_fork = (await local.get("/api/v1/tasks/order-2/provenance")).json()
    assert of_fork == {"origin": {"id": "order-1", "step": "pay.charge/1"}, "forks": []}
    of_origin = (await local.get("/api/v1/tasks/order-1/provenance")).json()
    assert of_origin == {"origin": None, "forks": [{"id": "order-2", "step": "pay.charge/1"}]}
    (act,) = [act for act in (await local.get("/api/v1/tasks/order-1/audit")).json() if act["act"] == "fork"]
    assert (act["actor"], act["details"]) == ("local", {"fork": "order-2", "reason": "another card"})


async def test_what_cannot_be_forked_is_refused(client: Client, local: httpx.AsyncClient) -> None:
    await (await client.submit("order", "good", id="order-1")).result()
    await client.submit("approval", id="order-2")
    for path, sent, status in (
        ("order-1", {"from_step": "pay.chrge/1"}, 409),
        ("order-1", {"from_step": "pay.charge/1", "version": "7"}, 422),
        ("order-1", {"from_step": "pay.charge/1", "arguments": []}, 422),
        ("order-1", {"from_step": "pay.charge/1", "id": "order-2"}, 409),
        ("order-1", {}, 422),
        ("order-2", {"from_step": "signal:approved/1"}, 409),
        ("none", {"from_step": "pay.charge/1"}, 404),
    ):
        assert (await local.post(f"/api/v1/tasks/{path}/fork", json=sent)).status_code == status
    stale = await local.post(
        "/api/v1/tasks/order-1/fork", json={"from_step": "pay.charge/1"}, headers={"If-Match": '"another"'}
    )
    assert stale.status_code == 412


async def test_a_viewer_forks_nothing_and_sees_provenance(
    client: Client, remote: httpx.AsyncClient, minted: Minted
) -> None:
    task = await client.submit("order", "good", id="order-1")
    await task.result()
    await task.fork("pay.charge/1", id="order-2")
    viewer = await minted("viewer")
    sent = {"from_step": "pay.charge/1"}
    assert (await remote.post("/api/v1/tasks/order-1/fork", json=sent, headers=viewer)).status_code == 403
    known = await remote.get("/api/v1/tasks/order-2/provenance", headers=viewer)
    assert known.json()["origin"] == {"id": "order-1", "step": "pay.charge/1"}
