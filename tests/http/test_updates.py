"""Updates over HTTP: answered within the wait that is asked for, or later under the same id."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from stepward import App, Client, wait_for, wait_for_update, workflow

from .conftest import bearer, caller, token_for

WAITING = {"Prefer": "wait=30"}


def positive(amount: int) -> None:
    if amount <= 0:
        raise ValueError(f"expected more than 0, found {amount}")


@workflow
async def account(hold: bool = False) -> int:
    if hold:
        await wait_for("opened")
    total = 0
    while total < 100:
        paid = await wait_for_update("pay", type=int, validator=positive)
        total += paid.value
        paid.accept({"total": total})
    return total


@pytest.fixture
async def bank(tmp_path: Path) -> AsyncIterator[tuple[App, Client]]:
    app = App("bank", workflows=[account], store=f"sqlite:///{tmp_path / 'bank.db'}")
    async with app.running(), app.client() as client:
        yield app, client


async def ask(
    remote: httpx.AsyncClient, payload: Any, id: str | None = None, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    sent = {"payload": payload} | ({} if id is None else {"id": id})
    answer = await remote.post(
        "/api/v1/tasks/t/updates/pay", json=sent, headers=WAITING if headers is None else headers
    )
    return answer.status_code, answer.json()


async def test_an_update_is_answered_accepted_or_rejected(bank: tuple[App, Client]) -> None:
    app, client = bank
    task = await client.submit(account, id="t")
    async with caller(app.asgi(local_admin=True)) as remote:
        status, answer = await ask(remote, 40)
        assert (status, answer["state"], answer["result"], answer["error"]) == (200, "accepted", {"total": 40}, None)
        status, answer = await ask(remote, -1, "u1")
        assert (status, answer["id"], answer["state"]) == (200, "u1", "rejected")
        assert answer["error"] == "update pay of task t: expected more than 0, found -1"
        assert (await ask(remote, 60, "u2"))[1]["result"] == {"total": 100}
        assert await task.result() == 100
        assert (await ask(remote, 60, "u2"))[1]["result"] == {"total": 100}
        status, answer = await ask(remote, 1)
        assert (status, "expected one that has not ended" in answer["detail"]) == (409, True)
        acts = (await remote.get("/api/v1/tasks/t/audit")).json()
    assert [act["act"] for act in acts if act["act"] == "update"] == ["update"] * 3
    assert {"update": "pay", "id": "u1"} in [act["details"] for act in acts]


async def test_an_update_that_is_not_answered_yet_is_asked_for_again(bank: tuple[App, Client]) -> None:
    app, client = bank
    task = await client.submit(account, True, id="t")
    async with caller(app.asgi(local_admin=True)) as remote:
        status, answer = await ask(remote, 100, headers={})
        assert (status, answer["state"], answer["result"]) == (202, "asked", None)
        await task.signal("opened")
        status, again = await ask(remote, 100, answer["id"])
        assert (status, again["state"], again["result"]) == (200, "accepted", {"total": 100})
        assert await task.result() == 100


async def test_a_principal_without_payloads_sees_how_far_it_is(bank: tuple[App, Client]) -> None:
    app, client = bank
    await client.submit(account, id="t")
    operator = bearer(await token_for(client, "ops", "operator", payloads=False))
    viewer = bearer(await token_for(client, "view", "viewer", payloads=True))
    async with caller(app.asgi()) as remote:
        assert (await ask(remote, 5, headers=viewer))[0] == 403
        for payload, state in ((5, "accepted"), (-5, "rejected")):
            _, answer = await ask(remote, payload, headers=operator | WAITING)
            assert (answer["state"], answer["result"], answer["error"]) == (state, None, None)


async def test_wrong_requests_are_refused(bank: tuple[App, Client]) -> None:
    app, client = bank
    await client.submit(account, id="t")
    async with caller(app.asgi(local_admin=True)) as remote:
        for path, status in (("t/updates/a~b", 422), ("none/updates/pay", 404)):
            answer = await remote.post(f"/api/v1/tasks/{path}", json={"payload": 1})
            assert answer.status_code == status
        assert (await ask(remote, 1, "u1"))[0] == 200
        conflict = await remote.post("/api/v1/tasks/t/updates/other", json={"id": "u1"})
        assert (conflict.status_code, "expected 'other' under that id" in conflict.json()["detail"]) == (409, True)
