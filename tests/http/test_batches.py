"""``/api/v1/batches``: nothing starts without its preview and the typed number, and no scope is left."""

from __future__ import annotations

from typing import Any

import httpx

from stepward import Client
from tests.until import until

from .conftest import Minted, approval

BATCHES = "/api/v1/batches"
WAITING: dict[str, Any] = {"verb": "suspend", "where": "state = 'waiting' or state = 'pending'"}


async def waiting(client: Client, count: int, **options: Any) -> list[str]:
    handles = [await client.submit(approval, **options) for _ in range(count)]
    ids = [handle.id for handle in handles]
    await until(lambda: states(client, ids), lambda found: set(found) == {"waiting"})
    return ids


async def states(client: Client, ids: list[str]) -> list[str]:
    return [(await client.task(id).status()).state.value for id in ids]


async def ended(http: httpx.AsyncClient, id: str, **more: Any) -> dict[str, Any]:
    answer = await until(
        lambda: http.get(f"{BATCHES}/{id}", **more), lambda found: found.json()["state"] in ("done", "stopped")
    )
    found: dict[str, Any] = answer.json()
    return found


async def test_a_batch_is_previewed_started_and_followed(client: Client, local: httpx.AsyncClient) -> None:
    ids = await waiting(client, 3)
    preview = await local.post(f"{BATCHES}/preview", json=WAITING)
    assert preview.status_code == 200
    told = preview.json()
    assert (told["number"], told["is_exact"], told["needs_confirmation"]) == (3, True, False)
    assert [each["refusal"] for each in told["sample"]] == [None] * 3
    answer = await local.post(BATCHES, json={**WAITING, "preview": told["preview"], "rate": 500, "reason": "drain"})
    assert answer.status_code == 201
    found = await ended(local, answer.json()["id"])
    assert (found["done"], found["refused"], found["actor"], found["reason"]) == (3, 0, "local", "drain")
    assert [each["id"] for each in (await local.get(BATCHES)).json()] == [found["id"]]
    await until(lambda: states(client, ids), lambda found: found == ["suspended"] * 3)


async def test_nothing_starts_without_its_preview(client: Client, local: httpx.AsyncClient) -> None:
    await waiting(client, 1)
    told = (await local.post(f"{BATCHES}/preview", json=WAITING)).json()
    assert (await local.post(BATCHES, json=WAITING)).status_code == 422
    other = await local.post(BATCHES, json={**WAITING, "verb": "resume", "preview": told["preview"]})
    assert other.status_code == 422
    assert other.json()["errors"][0]["field"] == "preview"
    body, _, signature = told["preview"].partition(".")
    forged = await local.post(BATCHES, json={**WAITING, "preview": f"{body}.{signature[::-1]}"})
    assert forged.status_code == 422
    assert (await local.get(BATCHES)).json() == []


async def test_a_dangerous_act_needs_the_number_of_tasks(client: Client, local: httpx.AsyncClient) -> None:
    await waiting(client, 2)
    act = {"verb": "cancel", "where": "state = 'waiting'"}
    told = (await local.post(f"{BATCHES}/preview", json=act)).json()
    assert told["needs_confirmation"]
    for confirm in (None, 1, 3):
        refused = await local.post(BATCHES, json={**act, "preview": told["preview"], "confirm": confirm})
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["field"] == "confirm"
    assert (await local.get(BATCHES)).json() == []
    answer = await local.post(BATCHES, json={**act, "preview": told["preview"], "confirm": 2, "rate": 500})
    assert (await ended(local, answer.json()["id"]))["done"] == 2


async def test_a_batch_of_a_scope_touches_no_task_out_of_it(
    client: Client, remote: httpx.AsyncClient, minted: Minted
) -> None:
    north, south = await waiting(client, 1, labels={"shop": "north"}), await waiting(client, 1)
    headers = await minted("operator", labels={"shop": "north"})
    told = (await remote.post(f"{BATCHES}/preview", json=WAITING, headers=headers)).json()
    assert (told["number"], [each["id"] for each in told["sample"]]) == (1, north)
    started = {**WAITING, "preview": told["preview"], "rate": 500}
    answer = await remote.post(BATCHES, json=started, headers=headers)
    assert (await ended(remote, answer.json()["id"], headers=headers))["done"] == 1
    assert (await states(client, south)) == ["waiting"]
    # The token is of no use without the scope that it was made for.
    whole = await minted("operator", name="all")
    assert (await remote.post(BATCHES, json=started, headers=whole)).status_code == 422


async def test_a_principal_with_a_scope_neither_sees_nor_steers_the_batches_of_others(
    client: Client, remote: httpx.AsyncClient, minted: Minted
) -> None:
    await waiting(client, 1)
    found = await client.batches.preview("suspend", "state = 'waiting'")
    batch = await client.batches.start(found, rate=0.01)
    headers = await minted("operator", labels={"shop": "north"})
    assert (await remote.get(BATCHES, headers=headers)).json() == []
    assert (await remote.get(f"{BATCHES}/{batch.id}", headers=headers)).status_code == 404
    assert (await remote.post(f"{BATCHES}/{batch.id}/stop", headers=headers)).status_code == 404


async def test_a_viewer_starts_and_steers_nothing(client: Client, remote: httpx.AsyncClient, minted: Minted) -> None:
    headers = await minted("viewer")
    assert (await remote.post(f"{BATCHES}/preview", json=WAITING, headers=headers)).status_code == 403
    assert (await remote.get(BATCHES, headers=headers)).status_code == 200


async def test_a_batch_is_paused_paced_resumed_and_stopped(client: Client, local: httpx.AsyncClient) -> None:
    await waiting(client, 3)
    told = (await local.post(f"{BATCHES}/preview", json=WAITING)).json()
    answer = await local.post(BATCHES, json={**WAITING, "preview": told["preview"], "rate": 0.01})
    path = f"{BATCHES}/{answer.json()['id']}"
    assert (await local.post(f"{path}/pause")).json()["state"] == "paused"
    assert (await local.post(f"{path}/pause")).status_code == 409
    assert (await local.post(f"{path}/pace", json={"rate": 0.02})).json()["rate"] == 0.02
    assert (await local.post(f"{path}/pace", json={"rate": 0})).status_code == 422
    assert (await local.post(f"{path}/resume")).json()["state"] == "running"
    assert (await local.post(f"{path}/stop")).json()["state"] == "stopped"
    assert (await local.post(f"{path}/resume")).status_code == 409
    assert (await local.get(f"{BATCHES}/none")).status_code == 404


async def test_who_may_not_see_payloads_does_not_see_what_was_written(
    client: Client, remote: httpx.AsyncClient, minted: Minted
) -> None:
    found = await client.batches.preview("resubmit", "state = 'error'", input=["secret-4711"])
    await client.batches.start(found, reason="secret-4711")
    headers = await minted("operator")
    assert "secret-4711" not in (await remote.get(BATCHES, headers=headers)).text
    seen = await minted("operator", name="other", payloads=True)
    assert "secret-4711" in (await remote.get(BATCHES, headers=seen)).text


async def test_only_an_admin_without_a_scope_deletes_tasks(
    client: Client, remote: httpx.AsyncClient, minted: Minted
) -> None:
    handle = await client.submit("greet", "Ada", id="gone", labels={"shop": "north"})
    await handle.result(timeout=30)
    act = {"verb": "delete", "where": "id = 'gone'"}
    for name, role, more in (("o", "operator", {}), ("s", "admin", {"labels": {"shop": "north"}})):
        headers = await minted(role, name=name, **more)
        assert (await remote.post(f"{BATCHES}/preview", json=act, headers=headers)).status_code == 403
    headers = await minted("admin", name="a")
    told = (await remote.post(f"{BATCHES}/preview", json=act, headers=headers)).json()
    started = {**act, "preview": told["preview"], "confirm": 1, "rate": 500}
    answer = await remote.post(BATCHES, json=started, headers=headers)
    assert (await ended(remote, answer.json()["id"], headers=headers))["done"] == 1
    assert (await remote.get("/api/v1/tasks/gone", headers=headers)).status_code == 404
