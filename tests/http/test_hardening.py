"""Requirements on what is sent and shown that no resource is about; ``docs/security.md`` names them by number."""

from __future__ import annotations

import asyncio
import gzip
import logging
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from litestar import Litestar
from litestar.testing import TestClient

from stepward import App, Client
from stepward.cli.main import cli
from stepward.client import session_of
from stepward.http.access.api_tokens import fresh_secret, read_secret
from stepward.http.access.permissions import Permission
from stepward.http.access.rate_limits import MOST_KEYS, AccessLimit
from stepward.http.sign_in.pages import sign_in_page
from stepward.http.static_files import static_routes

from .conftest import Minted, greet
from .test_access_matrix import ENDLESS

NASTY = (
    "'; drop table stepward_task; --",
    '" or 1=1 --',
    "x%' union select * from stepward_credential --",
    "<script>alert(1)</script>",
    "{{7*7}}${7*7}",
    "__import__('os').system('id')",
)


@pytest.mark.parametrize("text", NASTY)
async def test_what_is_sent_as_text_stays_text(client: Client, local: httpx.AsyncClient, text: str) -> None:
    await (await client.submit(greet, "Ada", id="order-1", labels={"a": text})).result()
    assert (await local.get("/api/v1/tasks", params={"workflow": text})).json()["tasks"] == []
    found = (await local.get("/api/v1/tasks", params={"label": f"a={text}"})).json()["tasks"]
    assert [task["labels"] for task in found] == [{"a": text}]
    assert (await local.get("/api/v1/tasks", params={"cursor": text})).status_code == 422


def test_no_route_that_changes_anything_is_a_get(app: App) -> None:
    asgi: Any = app.asgi()
    acts = {Permission.SUBMIT, Permission.ACT, Permission.OPERATE, Permission.ADMINISTER}
    assert [path for path, method, permission in asgi.routes if method == "GET" and permission in acts] == []


def test_what_is_shown_on_a_page_is_escaped() -> None:
    page = sign_in_page('"><script>', has_provider=True, problem="<script>alert(1)</script>")
    assert "<script" not in page


def secret_part(text: str) -> str:
    """What follows the id; it may hold underscores of its own."""
    return text.split("_", 2)[2]


def test_a_secret_does_not_show_itself() -> None:
    secret = fresh_secret()
    assert secret_part(secret.text) not in repr(secret)
    assert len({fresh_secret().text for _ in range(100)}) == 100
    for other in ("", secret.text[:-1], secret.text + "A", secret.text.upper(), "stepward_" + "é" * 60):
        assert read_secret(other) is None


async def test_a_token_is_shown_once_and_kept_by_its_hash(app: App, client: Client) -> None:
    def run(*words: str) -> str:
        done = CliRunner().invoke(cli, ["token", *words, "--store", app.settings.store])
        assert done.exit_code == 0, done.output
        return done.stdout.strip()

    text = await asyncio.to_thread(run, "create", "--role", "viewer", "--expires", "30d", "ci")
    secret = read_secret(text)
    assert secret is not None
    (kept,) = await session_of(client).store.operators.credentials()
    assert secret.opens(kept)
    bare = secret_part(text)
    path = Path(app.settings.store.removeprefix("sqlite:///"))
    assert all(bare.encode() not in each.read_bytes() for each in path.parent.iterdir() if each.is_file())
    assert bare not in await asyncio.to_thread(run, "list", "--json")
    assert "ci" in await asyncio.to_thread(run, "list")
    assert await asyncio.to_thread(run, "revoke", "ci") == "token ci: revoked"
    assert "ci" not in await asyncio.to_thread(run, "list")


async def test_a_token_of_a_bad_name_or_a_taken_one_is_refused(app: App, client: Client) -> None:
    def run(name: str) -> int:
        words = ["token", "create", "--role", "viewer", name, "--store", app.settings.store]
        return CliRunner().invoke(cli, words).exit_code

    codes = [await asyncio.to_thread(run, name) for name in ("ci", "ci", "a b", "\x1b[2J")]
    assert codes == [0, 1, 2, 2]


async def test_control_characters_in_a_request_reach_no_log_and_no_header(
    remote: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "stepward"):
        answer = await remote.get("/api/v1/tasks/%1b%5b2J%0d%0aSet-Cookie:%20a=b", headers={"X-Request": "a"})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert "\x1b" not in caplog.text


def test_static_files_are_exact_paths(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "page.css").write_text("body {}")
    (tmp_path / "secret.txt").write_text("secret")
    with TestClient(Litestar(static_routes(tmp_path / "files"), openapi_config=None)) as client:
        assert client.get("/static/page.css").text == "body {}"
        for path in ("/static/../secret.txt", "/static/%2e%2e/secret.txt", "/static/..%2fsecret.txt", "/static/"):
            assert client.get(path).status_code in (400, 404)


async def test_a_principal_that_asks_too_often_has_to_wait(
    remote: httpx.AsyncClient, minted: Minted, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    limit = AccessLimit(lambda: clock[0], rate=2.0, burst=4)
    assert [limit.take("ada") for _ in range(5)] == [0, 0, 0, 0, 0.5]
    assert limit.take("bob") == 0
    clock[0] = 0.5
    assert [limit.take("ada") for _ in range(2)] == [0, 0.5]
    for number in range(MOST_KEYS + 10):
        limit.take(f"{number}")
    assert limit.wait_seconds("ada") == 0


@pytest.mark.parametrize("limit", ["0", "1001", "-1", "1e9"])
async def test_a_page_has_a_bound(local: httpx.AsyncClient, limit: str) -> None:
    for path in ("tasks", "alerts", "audit", "dead-letters"):
        assert (await local.get(f"/api/v1/{path}?limit={limit}")).status_code == 422


async def test_no_answer_lets_a_page_of_another_site_read_it(app: App, local: httpx.AsyncClient) -> None:
    asgi: Any = app.asgi()
    origin = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for path in {path for path, _, _ in asgi.routes if "{" not in path} - ENDLESS:
        for method in ("GET", "OPTIONS"):
            answer = await local.request(method, path, headers=origin)
            assert [name for name in answer.headers if name.startswith("access-control-")] == [], path
            assert method == "GET" or answer.status_code == 405, path


async def test_a_packed_body_is_not_unpacked(local: httpx.AsyncClient) -> None:
    packed = gzip.compress(b'{"workflow": "greet", "arguments": ["' + b"a" * 50_000_000 + b'"]}')
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    answer = await local.post("/api/v1/tasks", content=packed, headers=headers)
    assert (answer.status_code, "Content-Encoding" in answer.text) == (415, True)


async def test_a_principal_has_a_bounded_number_of_waiting_answers(local: httpx.AsyncClient) -> None:
    body = {"workflow": "approval"}
    prefer = {"Prefer": "wait=60"}
    waiting = [asyncio.create_task(local.post("/api/v1/tasks", json=body, headers=prefer)) for _ in range(25)]
    done, pending = await asyncio.wait(waiting, timeout=60, return_when=asyncio.FIRST_COMPLETED)
    try:
        while len(done) < 5:
            more, pending = await asyncio.wait(pending, timeout=60, return_when=asyncio.FIRST_COMPLETED)
            assert more
            done |= more
        assert len(pending) == 20
        assert all(each.result().status_code == 202 for each in done)
        assert all("preference-applied" not in each.result().headers for each in done)
    finally:
        for each in pending:
            each.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


@pytest.mark.parametrize("name", ["Ada", "Bob"])
async def test_the_id_of_a_task_out_of_scope_is_taken_whatever_its_arguments(
    client: Client, remote: httpx.AsyncClient, minted: Minted, name: str
) -> None:
    await client.submit(greet, "Ada", id="order-1", labels={"shop": "south"})
    headers = await minted("operator", labels={"shop": "north"})
    body = {"workflow": "greet", "arguments": [name], "labels": {"shop": "north"}, "id": "order-1"}
    answer = await remote.post("/api/v1/tasks", json=body, headers=headers)
    assert answer.status_code == 409
    assert answer.json()["detail"].endswith("found a task with others; choose another id")


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
async def test_a_body_that_nests_deep_is_refused_before_it_is_read(local: httpx.AsyncClient, opening: bytes) -> None:
    body = b'{"workflow": "greet", "arguments": ' + opening * 5_000
    answer = await local.post("/api/v1/tasks", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, "levels of nesting" in answer.text) == (422, True)
    deep = b'{"workflow": "greet", "arguments": ["' + b"[" * 5_000 + b'"]}'
    answer = await local.post("/api/v1/tasks", content=deep, headers={"Content-Type": "application/json"})
    assert answer.status_code == 202


@pytest.mark.parametrize("number", ["0", "-1", str(2**53), "9" * 30])
async def test_a_number_that_no_alert_can_have_is_refused(local: httpx.AsyncClient, number: str) -> None:
    assert (await local.get(f"/api/v1/alerts/{number}/receipts")).status_code in (404, 422)
    assert (await local.post(f"/api/v1/alerts/{number}/acknowledge")).status_code in (404, 422)
