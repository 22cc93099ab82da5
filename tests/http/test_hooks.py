"""Webhooks that others sign: a valid one becomes a task, once; whatever else comes is refused, and slowed down."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from stepward import App, Client, TaskNotFound
from stepward.errors import SettingsError
from stepward.http.hooks import FAILURES
from stepward.observers.webhook_signature import TOLERANCE, signed_headers
from stepward.settings import Settings
from tests.until import until

from .conftest import HOOK_SECRET

HOOK = "/hooks/greetings"
JSON = {"Content-Type": "application/json"}
OTHER = "whsec_" + "B" * 32


def signed(body: bytes, id: str = "msg_1", *, secret: str = HOOK_SECRET, ago: float = 0.0) -> dict[str, str]:
    """The headers of a sender that signed the body so many seconds ago."""
    return JSON | signed_headers([secret], id, time.time() - ago, body)


async def send(caller: httpx.AsyncClient, data: Any, id: str = "msg_1", **how: Any) -> httpx.Response:
    body = json.dumps(data).encode()
    return await caller.post(HOOK, content=body, headers=signed(body, id, **how))


async def result(client: Client, id: str) -> Any:
    """The result of a task that a submission has yet to make of its message."""
    await until(lambda: client.tasks(where=f"id = '{id}'"))
    return await client.task(id).result(timeout=20)


async def test_a_signed_message_becomes_a_task(remote: httpx.AsyncClient, client: Client) -> None:
    answer = await send(remote, "Ada")
    assert (answer.status_code, answer.json()) == (202, {"id": "greetings:msg_1"})
    assert await result(client, "greetings:msg_1") == "hello Ada"


async def test_a_message_that_comes_again_is_answered_and_becomes_no_other_task(
    remote: httpx.AsyncClient, client: Client
) -> None:
    answers = [await send(remote, "Ada") for _ in range(3)]
    answers.append(await send(remote, "Bob", "msg_2"))
    assert [answer.status_code for answer in answers] == [202] * 4
    assert await result(client, "greetings:msg_2") == "hello Bob"
    assert {task.id for task in await client.tasks()} == {"greetings:msg_1", "greetings:msg_2"}


@pytest.mark.parametrize(
    ("sender", "change", "words"),
    [
        ({}, {"webhook-signature": ""}, "expected the header webhook-signature"),
        ({}, {"webhook-id": ""}, "expected the header webhook-id"),
        ({}, {"webhook-id": "msg_2"}, "expected a signature made with the secret"),
        ({}, {"webhook-timestamp": "soon"}, "expected webhook-timestamp in seconds"),
        ({"secret": OTHER}, {}, "expected a signature made with the secret"),
        ({"body": b'"Eve"'}, {}, "expected a signature made with the secret"),
        ({"ago": TOLERANCE + 60}, {}, "expected a time within 300 s"),
        ({"ago": -TOLERANCE - 60}, {}, "expected a time within 300 s"),
    ],
    ids=["unsigned", "no id", "another id", "no time", "another secret", "another body", "too old", "too new"],
)
async def test_a_message_that_is_not_the_senders_is_refused(
    remote: httpx.AsyncClient, client: Client, sender: dict[str, Any], change: dict[str, str], words: str
) -> None:
    headers = signed(**{"body": b'"Ada"', **sender}) | change
    answer = await remote.post(HOOK, content=b'"Ada"', headers=headers)
    assert answer.status_code == 401
    assert words in answer.json()["detail"]
    with pytest.raises(TaskNotFound):
        await client.task("greetings:msg_1").status()


async def test_an_address_whose_signatures_are_refused_has_to_wait(remote: httpx.AsyncClient) -> None:
    for _ in range(int(FAILURES)):
        assert (await send(remote, "Eve", secret=OTHER)).status_code == 401
    answer = await send(remote, "Eve", secret=OTHER)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", JSON, 422),
        (b"[" * 500 + b"]" * 500, JSON, 422),
        (b'"Ada"', {"Content-Type": "text/plain"}, 415),
        (b'"Ada"', JSON | {"Content-Encoding": "gzip"}, 415),
        (b'"' + b"x" * (1024 * 1024 + 65 * 1024) + b'"', JSON, 413),
        (b'"' + b"x" * (1024 * 1024 + 1024) + b'"', JSON, 413),
    ],
    ids=["no JSON", "deep", "another type", "packed", "larger than any body", "larger than a payload"],
)
async def test_a_signed_body_that_is_none_is_refused(
    remote: httpx.AsyncClient, body: bytes, headers: dict[str, str], status: int
) -> None:
    answer = await remote.post(HOOK, content=body, headers=signed(body) | headers)
    assert answer.status_code == status, answer.text


async def test_an_id_that_no_task_may_have_is_refused(remote: httpx.AsyncClient) -> None:
    assert (await send(remote, "Ada", "a b")).status_code == 422
    assert (await send(remote, "Ada", "x" * 200)).status_code == 422


async def test_a_hook_that_is_not_declared_has_no_route(app: App, remote: httpx.AsyncClient) -> None:
    body = b'"Ada"'
    assert (await remote.post("/hooks/others", content=body, headers=signed(body))).status_code == 401
    asgi: Any = app.asgi()
    assert [path for path, _, _ in asgi.routes if path.startswith("/hooks")] == [HOOK]


@pytest.mark.parametrize(
    ("hooks", "words"),
    [
        ("{", "expected a table of hooks"),
        ({"Orders": {"queue": "orders", "secret": HOOK_SECRET}}, "expected a name of 1 to 40"),
        ({"orders": {"queue": "orders"}}, "expected queue and secret, found other keys"),
        ({"orders": {"queue": "orders", "secret": HOOK_SECRET, "to": "x"}}, "expected queue and secret"),
        ({"orders": {"queue": "a b", "secret": HOOK_SECRET}}, "queue: expected the name of a submission queue"),
        ({"orders": {"queue": "orders", "secret": None}}, "secret: expected the secret"),
        ({f"h{n}": {"queue": "q", "secret": HOOK_SECRET} for n in range(51)}, "at most 50 hooks, found 51"),
    ],
)
def test_a_wrong_hook_is_one_clear_line(hooks: object, words: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=words) as found:
        Settings.load({"hooks": hooks}, {}, tmp_path)
    assert HOOK_SECRET not in str(found.value)


def test_a_secret_that_is_too_short_is_refused_when_the_application_is_made(tmp_path: Path) -> None:
    hooks = {"greetings": {"queue": "greetings", "secret": "short"}}
    app = App("shop", workflows=[], store=f"sqlite:///{tmp_path}/shop.db", hooks=hooks)
    with pytest.raises(SettingsError, match=r"^hooks\.greetings\.secret: expected 16 bytes or more"):
        app.asgi()


def test_a_secret_may_be_in_a_variable_and_is_not_shown(tmp_path: Path) -> None:
    given = {"STEPWARD_HOOKS": '{"orders": {"queue": "orders", "secret": "env:HOOK"}}', "HOOK": HOOK_SECRET}
    settings = Settings.load({}, given, tmp_path)
    assert [hook.secret for hook in settings.hooks or ()] == [HOOK_SECRET]
    assert settings.shown("hooks") == "orders (to orders)"
    assert HOOK_SECRET not in repr(settings)
