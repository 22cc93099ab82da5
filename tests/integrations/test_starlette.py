"""FastAPI and Starlette: the example, and what a service gets for wrong requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from examples.frameworks.orders import make_app
from examples.frameworks.with_fastapi import service
from stepward import Client
from stepward.integrations import server_sent_events
from stepward.integrations.fastapi import StepwardClient, error_handlers

ORDER = {"number": "A-1", "cents": 4200}


@pytest.fixture
def application(tmp_path: Path) -> FastAPI:
    return service(make_app(f"sqlite:///{tmp_path}/shop.db"))


@pytest.fixture
async def state(application: FastAPI) -> AsyncIterator[dict[str, Any]]:
    """What the lifespan gives to requests, entered as a server enters it."""
    async with application.router.lifespan_context(application) as state:
        assert state is not None
        yield dict(state)


@pytest.fixture
def client(state: dict[str, Any]) -> Client:
    found: Client = state["stepward_client"]
    return found


@pytest.fixture
async def web(application: FastAPI, state: dict[str, Any]) -> AsyncIterator[httpx.AsyncClient]:
    async def serve(scope: Any, receive: Any, send: Any) -> None:
        await application({**scope, "state": state}, receive, send)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=serve), base_url="http://shop") as client:
        yield client


async def test_a_request_becomes_a_task_and_its_repetition_starts_nothing(
    web: httpx.AsyncClient, client: Client
) -> None:
    answers = [await web.post("/orders", json=ORDER, headers={"Idempotency-Key": "A-1"}) for _ in range(2)]
    assert [(each.status_code, each.json()) for each in answers] == [(202, {"task": "A-1"})] * 2
    assert await client.task("A-1").result(timeout=60) == "charge-A-1-4200"
    assert (await web.get("/orders/A-1")).json() == {"state": "processed"}


async def test_without_the_header_each_request_is_a_task_of_its_own(web: httpx.AsyncClient) -> None:
    first, second = [(await web.post("/orders", json=ORDER)).json()["task"] for _ in range(2)]
    assert first != second


async def test_wrong_requests_are_answered_by_problem_documents(web: httpx.AsyncClient) -> None:
    await web.post("/orders", json=ORDER, headers={"Idempotency-Key": "A-1"})
    conflict = await web.post("/orders", json={**ORDER, "cents": 1}, headers={"Idempotency-Key": "A-1"})
    assert (conflict.status_code, conflict.headers["content-type"]) == (409, "application/problem+json")
    assert (await web.get("/orders/A-2")).status_code == 404
    bad = await web.post("/orders", json=ORDER, headers={"Idempotency-Key": "A 1/"})
    assert (bad.status_code, bad.json()["detail"]) == (
        422,
        "Idempotency-Key: expected 1 to 200 characters of A-Z a-z 0-9 _ . : @ -, found 'A 1/'",
    )


async def test_a_service_without_the_lifespan_is_named() -> None:
    bare = FastAPI(exception_handlers=error_handlers)

    @bare.get("/")
    async def index(client: StepwardClient) -> None:
        raise AssertionError("expected no client")

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=bare), base_url="http://shop") as client:
        found = await client.get("/")
    assert found.status_code == 422
    assert "found another lifespan; pass that one" in found.json()["detail"]


async def test_progress_is_sent_as_events_with_positions_until_the_end(web: httpx.AsyncClient) -> None:
    await web.post("/orders", json=ORDER, headers={"Idempotency-Key": "A-1"})
    found = await web.get("/orders/A-1/progress")
    assert found.headers["content-type"].startswith("text/event-stream")
    assert found.text == (
        'id: 0\ndata: {"done":0,"of":1,"step":"charge"}\n\nid: 1\ndata: {"done":1,"of":1,"step":"charge"}\n\n'
    )


async def test_a_browser_that_reconnects_goes_on_behind_its_last_event_and_is_stopped_at_the_end(
    web: httpx.AsyncClient, client: Client
) -> None:
    await web.post("/orders", json=ORDER, headers={"Idempotency-Key": "A-1"})
    await client.task("A-1").result(timeout=60)
    behind = await web.get("/orders/A-1/progress", headers={"Last-Event-ID": "0"})
    assert behind.text.startswith("id: 1\n")
    assert (await web.get("/orders/A-1/progress", headers={"Last-Event-ID": "1"})).status_code == 204


async def test_progress_of_what_is_not_there_is_refused_before_the_answer_begins(web: httpx.AsyncClient) -> None:
    assert (await web.get("/orders/A-2/progress")).status_code == 404
    await web.post("/orders", json=ORDER, headers={"Idempotency-Key": "A-1"})
    wrong = await web.get("/orders/A-1/progress", headers={"Last-Event-ID": "x"})
    assert (wrong.status_code, wrong.json()["detail"]) == (
        422,
        "Last-Event-ID: expected the position of a value, found 'x'; leave it out",
    )


async def test_a_stream_without_values_is_kept_open_by_comments_and_given_up_with_its_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_sent_events, "PAUSE_SECONDS", 0.001)
    given_up = asyncio.Event()

    async def silent() -> AsyncIterator[tuple[int, Any]]:
        try:
            await asyncio.Event().wait()
            yield 0, None
        finally:
            given_up.set()

    events = server_sent_events._written(silent(), None)
    assert [await anext(events) for _ in range(2)] == [b": \n\n"] * 2
    await events.aclose()  # type: ignore[attr-defined]
    assert given_up.is_set()
