"""Values that a task writes, over HTTP: listed, and followed as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from stepward import App, Client, publish, stream, wait_for, workflow
from stepward.http.streaming import polling

from .conftest import bearer, caller, token_for
from .streams import opened


@workflow
async def count(most: int) -> None:
    publish("of", most)
    for number in range(most):
        stream("numbers").write(number)
    await wait_for("more")
    stream("numbers").write("last")


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "PACE_SECONDS", 0.02)
    monkeypatch.setattr(polling, "BEAT_SECONDS", 0.1)
    monkeypatch.setattr(polling, "SHARE", 0)


@pytest.fixture
async def counting(tmp_path: Path) -> AsyncIterator[tuple[App, Client]]:
    app = App("counts", workflows=[count], store=f"sqlite:///{tmp_path / 'counts.db'}")
    async with app.running(), app.client() as client:
        yield app, client


async def values(
    remote: httpx.AsyncClient, headers: dict[str, str], query: str = "", most: int = 1_000
) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    async with opened(remote, "/api/v1/tasks/t/stream/numbers", headers, query) as answer, asyncio.timeout(30):
        async for event in answer.events:
            if event.name == "value":
                found.append((event.id, json.loads(event.data)))
            if len(found) == most:
                break
    return found


async def test_a_stream_is_followed_until_the_task_ends_and_goes_on_behind_the_last_event(
    counting: tuple[App, Client],
) -> None:
    app, client = counting
    task = await client.submit(count, 3, id="t")
    async with caller(app.asgi(local_admin=True)) as remote:
        begun = await values(remote, {}, most=3)
        assert begun == [("0", 0), ("1", 1), ("2", 2)]
        following = asyncio.ensure_future(values(remote, {"Last-Event-ID": "1"}))
        await task.signal("more")
        assert await following == [("2", 2), ("3", "last")]
        assert await values(remote, {}, "start=3") == [("3", "last")]
        listed = (await remote.get("/api/v1/tasks/t/values")).json()
        assert [(each["name"], each["value"]) for each in listed] == [("of", 3)]
        assert (await remote.get("/api/v1/tasks/t/streams")).json() == [{"name": "numbers", "values": 4}]


async def test_what_is_no_position_or_no_name_is_refused(counting: tuple[App, Client]) -> None:
    app, client = counting
    await client.submit(count, 0, id="t")
    async with caller(app.asgi(local_admin=True)) as remote:
        for path, headers in (
            ("stream/numbers?start=-1", {}),
            ("stream/numbers", {"Last-Event-ID": "x"}),
            ("stream/a!b", {}),
        ):
            answer = await remote.get(f"/api/v1/tasks/t/{path}", headers=headers)
            assert answer.status_code == 422, path


async def test_payloads_stay_hidden_from_principals_that_may_not_see_them(counting: tuple[App, Client]) -> None:
    app, client = counting
    task = await client.submit(count, 1, id="t")
    await task.signal("more")
    await task.result(timeout=30)
    headers = bearer(await token_for(client, "watcher", "viewer"))
    async with caller(app.asgi()) as remote:
        assert await values(remote, headers) == [("0", None), ("1", None)]
        (value,) = (await remote.get("/api/v1/tasks/t/values", headers=headers)).json()
        assert value["value"] is None
