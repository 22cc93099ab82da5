import asyncio
from pathlib import Path

import httpx
import pytest

from stepward import App
from stepward.http import health
from stepward.http.shared_client import ClientSource

from .conftest import caller, greet


async def test_health_needs_no_sign_in(app: App) -> None:
    async with caller(app.asgi()) as client:
        assert (await client.get("/livez")).text == "live"
        assert (await client.get("/readyz")).text == "ready"


async def test_readiness_is_refused_while_the_store_is_away(tmp_path: Path) -> None:
    app = App("shop", store=f"sqlite:///{tmp_path}/missing/shop.db")
    transport = httpx.ASGITransport(app.asgi())
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        assert (await client.get("/livez")).status_code == 200
        assert (await client.get("/readyz")).status_code == 503


async def test_readiness_asks_the_store_once_a_second_at_most(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    ask = health._answers

    async def counted(source: ClientSource) -> bool:
        nonlocal asked
        asked += 1
        return await ask(source)

    monkeypatch.setattr(health, "_answers", counted)
    async with caller(app.asgi()) as client:
        answers = await asyncio.gather(*(client.get("/readyz") for _ in range(20)))
        assert {answer.text for answer in answers} == {"ready"}
        assert asked == 1
        monkeypatch.setattr(health, "FRESH_SECONDS", 0.0)
        await client.get("/readyz")
        assert asked == 2


async def test_a_task_and_its_steps_are_shown(app: App, local: httpx.AsyncClient) -> None:
    async with app.client() as client:
        handle = await client.submit(greet, "Ada", id="order-1")
        await handle.result()
    assert (await local.get("/api/v1/tasks/order-1")).json()["state"] == "processed"
    assert [task["id"] for task in (await local.get("/api/v1/tasks")).json()["tasks"]] == ["order-1"]
    assert (await local.get("/api/v1/tasks/order-1/steps")).json() == []


async def test_an_unknown_task_is_a_problem_document(local: httpx.AsyncClient) -> None:
    answer = await local.get("/api/v1/tasks/none")
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert answer.json()["detail"].startswith("task 'none': expected an id that was submitted")


async def test_a_problem_names_the_parameter(local: httpx.AsyncClient) -> None:
    answer = await local.get("/api/v1/tasks?limit=many")
    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["errors"]] == ["limit"]
