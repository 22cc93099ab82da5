"""Every route, for every kind of caller: who may not is refused, streams included."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from stepward import App, Client
from stepward.client import session_of
from stepward.http.access.permissions import ALL_TASKS, GRANTS, Permission
from stepward.model.credentials import AccessRole

from .conftest import bearer, greet, token_for
from .streams import opened

SIGN_IN = {"/login", "/login/openid", "/login/callback", "/logout"}
"""Public routes of the sign-in; ``test_sign_in`` is about them."""
SIGNED = {"/hooks/greetings"}
"""Public routes whose bodies are signed; ``test_hooks`` is about them."""
ENDLESS = {"/live", "/api/v1/events"}
FORMS = {"/find", "/tasks/preview", "/tasks/act", "/alerts/act", "/alerts/test", "/batches/preview", "/batches/start"}
"""Routes of the console that want what no page has sent here."""
VALUES = {"{task_id:str}": "order-1", "{name:str}": "nightly", "{number:int}": "1", "{batch_id:str}": "b-1"}
BODIES: dict[str, Any] = {
    "/api/v1/tasks": {"workflow": "greet", "arguments": ["Ada"]},
    "/api/v1/tasks/{task_id:str}/mark-done": {"step": "x/1", "result": 1},
    "/api/v1/tasks/{task_id:str}/signals": {"name": "approved"},
    "/api/v1/tasks/{task_id:str}/updates/{name:str}": {"payload": 1},
    "/api/v1/tasks/{task_id:str}/fork": {"from_step": "pay.charge/1"},
    "/api/v1/batches/preview": {"verb": "suspend", "where": "state = 'waiting'"},
    "/api/v1/batches": {"verb": "suspend", "where": "state = 'waiting'", "preview": "x.y"},
    "/api/v1/batches/{batch_id:str}/pace": {"rate": 5},
    "/api/v1/completions": {"token": "x.y", "result": 1},
    "/api/v1/schedules": {"name": "n", "workflow": "greet", "arguments": ["Ada"], "every": "1h"},
    "/api/v1/schedules/{name:str}/backfill": {"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:00:00Z"},
    "/api/v1/limits/{name:str}": {"concurrency": 5},
    "/api/v1/alerts/silences": {"kind": "task_error", "until": "1h"},
    "/api/v1/alerts/silences/end": {"kind": "task_error"},
    "/api/v1/dead-letters/put-back": {"numbers": [1]},
    "/api/v1/dead-letters/discard": {"numbers": [1]},
}


def routes(app: App) -> list[tuple[str, str, Permission]]:
    asgi: Any = app.asgi()
    return list(asgi.routes)


async def ask(remote: httpx.AsyncClient, method: str, path: str, headers: dict[str, str]) -> int:
    if path in ENDLESS:
        async with opened(remote, path, headers) as stream:
            return stream.status
    address = path
    for name, value in VALUES.items():
        address = address.replace(name, value)
    body = BODIES.get(path, {}) if method == "POST" else None
    return (await remote.request(method, address, headers=headers, json=body)).status_code


@pytest.fixture
async def task(client: Client) -> None:
    await (await client.submit(greet, "Ada", id="order-1")).result()


@pytest.mark.parametrize("kind", ["none", "expired", "revoked", "forged", "no token"])
async def test_no_route_answers_without_a_live_token(
    app: App, client: Client, remote: httpx.AsyncClient, task: None, kind: str
) -> None:
    store = session_of(client).store
    headers = {}
    if kind == "expired":
        headers = bearer(await token_for(client, "old", "admin", payloads=True, expires_at=store.now() - 1))
    elif kind == "revoked":
        text = await token_for(client, "gone", "admin", payloads=True)
        headers = bearer(text)
        assert (await remote.get("/api/v1/me", headers=headers)).status_code == 200
        await store.operators.revoke_credential(text.split("_")[1], "test")
    elif kind == "forged":
        text = await token_for(client, "half", "admin", payloads=True)
        headers = bearer(text[:-1] + ("A" if text[-1] != "A" else "B"))
    elif kind == "no token":
        headers = {"Authorization": "Basic YWRtaW46YWRtaW4="}
    found = {}
    for path, method, permission in routes(app):
        # Many wrong tokens are answered 429, which is no answer either.
        expected = {200} if permission is Permission.PUBLIC and not headers else {401, 429}
        if path in SIGN_IN and not headers:
            expected = {200, 401, 404}
        if path in SIGNED:
            expected = {401, 429}
        if (status := await ask(remote, method, path, headers)) not in expected:
            found[method, path] = status
    assert found == {}


@pytest.mark.parametrize("role", AccessRole)
async def test_each_role_may_what_its_row_says_and_no_more(
    app: App, client: Client, remote: httpx.AsyncClient, task: None, role: AccessRole
) -> None:
    headers = bearer(await token_for(client, "ci", role, payloads=True))
    found = {}
    for path, method, permission in routes(app):
        status = await ask(remote, method, path, headers)
        if path not in SIGN_IN | SIGNED and (
            (status == 403) != (permission not in GRANTS[role]) or status in (401, 500)
        ):
            found[method, path] = (permission, status)
    assert found == {}


@pytest.mark.parametrize("scope", [{"workflows": ["other"]}, {"labels": {"shop": "north"}}])
async def test_a_task_out_of_scope_is_an_unknown_one_on_every_route(
    app: App, client: Client, remote: httpx.AsyncClient, task: None, scope: dict[str, Any]
) -> None:
    headers = bearer(await token_for(client, "ci", "admin", payloads=True, **scope))
    found = {}
    for path, method, permission in routes(app):
        status = await ask(remote, method, path, headers)
        if permission in ALL_TASKS or permission is Permission.SUBMIT:
            expected = {403}
        elif "{task_id" in path or "{number" in path or "{batch_id" in path:
            expected = {404}
        elif path in FORMS or (method, path) == ("POST", "/api/v1/batches"):
            expected = {303, 422}
        elif path.endswith("/completions"):
            expected = {409}
        elif path in SIGNED:
            expected = {401}
        elif path == "/mcp":
            expected = {400}  # no message of the protocol
        else:
            expected = {200} if path not in SIGN_IN else {200, 401, 404, 409}
        if status not in expected:
            found[method, path] = (permission, status)
    assert found == {}


async def test_a_task_out_of_scope_is_answered_like_an_unknown_id(
    client: Client, remote: httpx.AsyncClient, task: None
) -> None:
    headers = bearer(await token_for(client, "ci", "viewer", workflows=["other"]))
    hidden = (await remote.get("/api/v1/tasks/order-1", headers=headers)).json()
    missing = (await remote.get("/api/v1/tasks/order-2", headers=headers)).json()
    assert hidden["detail"].replace("order-1", "order-2") == missing["detail"]


async def test_lists_leave_out_what_is_out_of_scope(client: Client, remote: httpx.AsyncClient, task: None) -> None:
    await (await client.submit(greet, "Bob", id="order-2", labels={"shop": "north"})).result()
    headers = bearer(await token_for(client, "ci", "viewer", labels={"shop": "north"}))
    found = (await remote.get("/api/v1/tasks", headers=headers)).json()
    assert [each["id"] for each in found["tasks"]] == ["order-2"]
