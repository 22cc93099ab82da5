"""Completion tokens over HTTP: accepted from principals that may act on their task, and from no other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from stepward import Agent, App, Client, current_step, workflow

from .conftest import Minted, caller

desk = Agent("desk")
given: list[asyncio.Queue[str]] = []
"""The queue of the test that runs."""


@desk.operation(complete_by="60s")
async def approve() -> str:
    given[0].put_nowait(current_step().completion_token)
    current_step().finish_later()


@workflow
async def approved() -> str:
    return await approve()


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    given[:] = [asyncio.Queue()]
    app = App("shop", workflows=[approved], agents=[desk], store=f"sqlite:///{tmp_path}/shop.db")
    async with app.running():
        yield app


@pytest.fixture
async def token(client: Client) -> str:
    await client.submit(approved, id="order-1")
    async with asyncio.timeout(30):
        return await given[0].get()


async def test_a_step_is_finished_from_outside(app: App, client: Client, token: str, minted: Minted) -> None:
    async with caller(app.asgi()) as remote:
        headers = await minted("operator", workflows=["approved"])
        answer = await remote.post("/api/v1/completions", json={"token": token, "result": "yes"}, headers=headers)
        assert answer.status_code == 204, answer.text
        again = await remote.post("/api/v1/completions", json={"token": token, "result": "no"}, headers=headers)
        assert again.status_code == 409
    assert await client.task("order-1").result(timeout=30) == "yes"


async def test_a_token_of_a_task_out_of_scope_is_refused_like_an_invalid_token(
    client: Client, token: str, remote: httpx.AsyncClient, minted: Minted
) -> None:
    headers = await minted("operator", workflows=["other"])
    ours = await remote.post("/api/v1/completions", json={"token": token, "result": "yes"}, headers=headers)
    none = await remote.post("/api/v1/completions", json={"token": "none", "result": "yes"}, headers=headers)
    assert (ours.status_code, ours.json()) == (409, none.json())
    assert (await client.task("order-1").status()).state != "processed"


@pytest.mark.parametrize("body", [{}, {"result": 1, "error": {"message": "no"}}, {"error": {}}])
async def test_a_completion_is_a_result_or_an_error(local: httpx.AsyncClient, body: dict[str, object]) -> None:
    answer = await local.post("/api/v1/completions", json={"token": "x", **body})
    assert answer.status_code == 422
