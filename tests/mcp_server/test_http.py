"""The tools over streamable HTTP: the same principals, permissions, checks and audit as the API beside it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client as Assistant
from mcp.client.streamable_http import streamable_http_client

from stepward import App, Client, TaskHandle
from stepward.client import session_of
from stepward.http.access.api_tokens import read_secret
from stepward.mcp_server import http_endpoint
from stepward.mcp_server.tools import READS
from tests.http.conftest import approval, bearer
from tests.http.conftest import local as local_fixture
from tests.http.conftest import remote as remote_fixture
from tests.until import until

from .conftest import Made, text_of

URL = "http://127.0.0.1:8321/mcp"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPTED = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
local, remote = local_fixture, remote_fixture
Reached = Callable[..., AbstractAsyncContextManager[Assistant]]


@pytest.fixture
def reached(app: App) -> Reached:
    """Connects an assistant over HTTP to a console on loopback, with a token or without one."""

    @asynccontextmanager
    async def connect(token: str | None = None) -> AsyncIterator[Assistant]:
        asgi: Any = app.asgi(local_admin=True)
        headers = {} if token is None else bearer(token)
        async with (
            asgi,
            httpx2.AsyncClient(transport=httpx2.ASGITransport(asgi), headers=headers) as web,
            Assistant(streamable_http_client(URL, http_client=web)) as assistant,
        ):
            yield assistant

    return connect


async def test_the_sdk_is_imported_once_and_not_on_the_event_loop(
    reached: Reached, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    monkeypatch.setattr(http_endpoint, "_import_server", lambda: threads.append(threading.current_thread()))
    async with reached() as assistant:
        await assistant.list_tools()
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()


async def test_without_a_token_an_assistant_of_this_host_only_looks_and_sees_no_payloads(
    reached: Reached, client: Client, failed: TaskHandle
) -> None:
    async with reached() as assistant:
        assert {tool.name for tool in (await assistant.list_tools()).tools} == {each.operation for each in READS}
        found = await assistant.call_tool("diagnose_task", {"task_id": "order-1"})
        assert not found.is_error and "secret-4711" not in text_of(found)
        principal: Any = (await assistant.call_tool("show_principal", {})).structured_content
        assert (principal["name"], principal["role"]) == ("assistant", "viewer")
        assert (await assistant.call_tool("undo_task", {"task_id": "order-1", "reason": "x"})).is_error


async def test_a_token_decides_what_an_assistant_may_and_the_audit_names_it(
    reached: Reached, client: Client, failed: TaskHandle, made: Made
) -> None:
    async with reached(await made("operator", payloads=True)) as assistant:
        assert "secret-4711" in text_of(await assistant.call_tool("diagnose_task", {"task_id": "order-1"}))
        act = {"task_id": "order-1", "input": ["good"], "doubt": "did_not_happen", "reason": "the bank is back"}
        done = await assistant.call_tool("resubmit_task", act)
        assert not done.is_error, text_of(done)
    assert await client.task("order-1").result(timeout=60) == "charged good"
    actors = {each.act: each.actor for each in await client.audits("order-1")}
    assert actors["resubmit"] == actors["read_payloads"] == "token:assistant"


async def test_a_batch_is_previewed_confirmed_watched_and_stopped(reached: Reached, client: Client, made: Made) -> None:
    tasks = [await client.submit(approval, id=f"a-{number}") for number in range(3)]
    await until(lambda: _states(tasks), lambda found: set(found) == {"waiting"})
    act: dict[str, Any] = {"verb": "cancel", "where": "workflow = 'approval'"}
    async with reached(await made("operator")) as assistant:
        told: Any = (await assistant.call_tool("preview_batch", act)).structured_content
        assert (told["number"], told["needs_confirmation"]) == (3, True)
        start = act | {"preview": told["preview"], "reason": "the campaign is over", "rate": 0.01}
        for wrong in (start, start | {"confirm": 2}):
            refused = await assistant.call_tool("start_batch", wrong)
            assert refused.is_error and "expected the number of tasks" in text_of(refused)
        batch: Any = (await assistant.call_tool("start_batch", start | {"confirm": 3})).structured_content
        named = {"batch_id": batch["id"], "reason": "enough"}
        assert not (await assistant.call_tool("pace_batch", named | {"rate": 0.02})).is_error
        watched: Any = (await assistant.call_tool("show_batch", {"batch_id": batch["id"]})).structured_content
        assert watched["state"] == "running" and watched["rate"] == 0.02
        stopped: Any = (await assistant.call_tool("stop_batch", named)).structured_content
        assert stopped["state"] == "stopped"
    acts = [each.act for each in await client.audits() if each.actor == "token:assistant"]
    assert set(acts) >= {"start", "pace", "stop"}


async def _states(tasks: list[TaskHandle]) -> list[str]:
    return [(await task.status()).state.value for task in tasks]


async def test_elsewhere_no_message_is_answered_without_a_live_token(
    remote: httpx.AsyncClient,
    client: Client,
    made: Made,
) -> None:
    assert (await remote.post("/mcp", json=PING, headers=ACCEPTED)).status_code == 401
    text = await made("viewer")
    headers = ACCEPTED | bearer(text)
    assert (await remote.post("/mcp", json=PING, headers=headers)).json()["result"] == {}
    await session_of(client).store.operators.revoke_credential(text.split("_")[1], "test")
    assert (await remote.post("/mcp", json=PING, headers=headers)).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Forwarded": "for=10.0.0.1"}, 401),
    ],
)
async def test_a_page_of_another_site_reaches_no_tool(
    local: httpx.AsyncClient,
    made: Made,
    headers: dict[str, str],
    status: int,
) -> None:
    assert (await local.post("/mcp", json=PING, headers=ACCEPTED | headers)).status_code == status
    if status == 403:
        with_token = ACCEPTED | headers | bearer(await made("admin"))
        assert (await local.post("/mcp", json=PING, headers=with_token)).status_code == 403


async def test_a_browsers_session_is_no_assistant(remote: httpx.AsyncClient, made: Made) -> None:
    text = await made("viewer", workflows=["other"])
    site = {"Origin": "http://127.0.0.1:8321"}
    assert (await remote.post("/login", data={"token": text}, headers=site)).status_code in (200, 303)
    secret = remote.cookies["stepward_session"]
    found = read_secret(secret)
    assert found is not None
    answer = await remote.post("/mcp", json=PING, headers=ACCEPTED | site | {"X-CSRF-Token": found.csrf})
    assert answer.status_code == 403 and "expected an API token" in answer.text


async def test_messages_are_bounded_and_there_is_no_stream_and_no_session(local: httpx.AsyncClient) -> None:
    for method in ("GET", "DELETE", "PUT"):
        assert (await local.request(method, "/mcp", headers=ACCEPTED)).status_code == 405, method
    large = b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"a" * 2_000_000 + b'"}'
    assert (await local.post("/mcp", content=large, headers=ACCEPTED)).status_code == 413
    for body in (b"{", b"[]", b"null", b'{"jsonrpc": "1.0"}', b"\xff"):
        answer = await local.post("/mcp", content=body, headers=ACCEPTED)
        assert 400 <= answer.status_code < 500, (body, answer.status_code)
    answer = await local.post("/mcp", json=PING, headers=ACCEPTED)
    assert answer.status_code == 200 and "mcp-session-id" not in answer.headers
