"""Sessions of browsers: begun by a token or at a provider, ended at once, and of no use to other sites."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from stepward import App, Client
from stepward.client import session_of
from stepward.http.access.access_rules import AccessRules
from stepward.http.sign_in.openid import OpenIdProvider, OpenIdSettings
from stepward.model.credentials import AccessRole
from stepward.mounting import mounted

from .conftest import caller, greet, token_for

SITE = {"Origin": "http://127.0.0.1:8321"}


async def csrf_of(remote: httpx.AsyncClient) -> str:
    """What a page of the session would hold; no page is here, so it is made of the cookie."""
    from stepward.http.access.api_tokens import read_secret

    secret = read_secret(remote.cookies["stepward_session"])
    assert secret is not None
    return secret.csrf


@pytest.fixture
async def session(client: Client, remote: httpx.AsyncClient) -> httpx.AsyncClient:
    """A browser that has signed in by an operator's token."""
    text = await token_for(client, "ada", "operator", payloads=True)
    answer = await remote.post("/login", data={"token": text}, headers=SITE)
    assert answer.status_code == 200
    return remote


async def test_a_session_may_what_its_token_may(session: httpx.AsyncClient) -> None:
    me = (await session.get("/api/v1/me")).json()
    assert (me["name"], me["role"], me["payloads"]) == ("token:ada", "operator", True)


async def test_the_cookie_is_for_no_script_and_no_other_site(client: Client, remote: httpx.AsyncClient) -> None:
    text = await token_for(client, "ada", "operator")
    answer = await remote.post("/login", data={"token": text}, headers=SITE)
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert text not in cookie


async def test_a_session_ends_with_its_token_at_once(client: Client, session: httpx.AsyncClient) -> None:
    store = session_of(client).store.operators
    (token,) = [each for each in await store.credentials() if each.kind == "token"]
    await store.revoke_credential(token.id, "test")
    assert (await session.get("/api/v1/me")).status_code == 401


async def test_signing_out_ends_the_session(session: httpx.AsyncClient) -> None:
    cookie = session.cookies["stepward_session"]
    headers = SITE | {"X-CSRF-Token": await csrf_of(session)}
    assert (await session.post("/logout", headers=headers)).status_code == 200
    session.cookies.set("stepward_session", cookie)
    assert (await session.get("/api/v1/me")).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {},
        SITE,
        {"Origin": "https://evil.example"},
        SITE | {"X-CSRF-Token": "0" * 64},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_no_other_site_acts_with_a_session(
    client: Client, session: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    await (await client.submit(greet, "Ada", id="order-1")).result()
    assert (await session.post("/api/v1/tasks/order-1/undo", headers=headers)).status_code == 403
    if "X-CSRF-Token" not in headers and headers:
        forged = headers | {"X-CSRF-Token": await csrf_of(session)}
        expected = 202 if headers == SITE else 403
        assert (await session.post("/api/v1/tasks/order-1/undo", headers=forged)).status_code == expected


async def test_a_forms_field_is_as_good_as_the_header(session: httpx.AsyncClient) -> None:
    form = {"csrf_token": await csrf_of(session)}
    assert (await session.post("/logout", data=form, headers=SITE)).status_code == 200


async def test_wrong_tokens_are_rate_limited_and_audited(client: Client, remote: httpx.AsyncClient) -> None:
    text = await token_for(client, "ada", "operator")
    statuses = [(await remote.post("/login", data={"token": "x"}, headers=SITE)).status_code for _ in range(12)]
    assert statuses == [401] * 10 + [429] * 2
    assert (await remote.get("/api/v1/me", headers={"Authorization": f"Bearer {text}"})).status_code == 429
    acts = [act.act for act in await client.audits()]
    assert acts.count("refused") == 10


async def test_a_browser_is_sent_to_sign_in_and_a_program_is_refused(remote: httpx.AsyncClient) -> None:
    answer = await remote.get("/tasks", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert (await remote.get("/api/v1/tasks", headers={"Accept": "text/html"})).status_code == 401


async def test_what_comes_past_the_proxy_or_in_plain_text_is_refused(app: App) -> None:
    asgi: Any = mounted(app.client, AccessRules(proxy="10.0.0.1", url="https://ops.example"))
    for address, headers, status in (
        ("10.0.0.9", {"X-Forwarded-Proto": "https"}, 403),
        ("10.0.0.1", {"X-Forwarded-Proto": "http"}, 403),
        ("10.0.0.1", {}, 403),
        ("10.0.0.1", {"X-Forwarded-Proto": "https", "X-Forwarded-For": "1.2.3.4"}, 401),
    ):
        transport = httpx.ASGITransport(asgi, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://ops.example") as client:
            assert (await client.get("/api/v1/me", headers=headers)).status_code == status
            assert (await client.get("/livez")).status_code == 200
            assert (await client.get("/api/v1/me", headers=headers | {"Host": "other"})).status_code in (403, 421)


@asynccontextmanager
async def provider() -> AsyncIterator[str]:
    """An OpenID provider in a process of its own."""
    program = (
        "import oidc_provider_mock as o\n"
        "with o.run_server_in_thread() as s:\n print(s.server_port, flush=True)\n import sys; sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.mark.servers
@pytest.mark.parametrize(("groups", "status"), [(["ops"], 200), (["others"], 403)])
async def test_people_sign_in_at_an_openid_provider(app: App, groups: list[str], status: int) -> None:
    async with provider() as issuer, httpx.AsyncClient() as elsewhere:
        claims = {"email": "ada@example.com", "email_verified": True, "groups": groups}
        await elsewhere.put(f"{issuer}/users/ada", json=claims)
        settings = OpenIdSettings(
            issuer=issuer,
            client_id="console",
            client_secret="s3cret",
            claim="groups",
            roles={"ops": (AccessRole.OPERATOR, False)},
        )
        opened = OpenIdProvider(settings, "http://127.0.0.1:8321/login/callback")
        async with caller(mounted(app.client, AccessRules(), opened)) as browser:
            begun = await browser.get("/login/openid")
            assert begun.status_code == 303
            allowed = await elsewhere.post(begun.headers["location"], data={"sub": "ada"})
            back = allowed.headers["location"].removeprefix("http://127.0.0.1:8321")
            stranger = await browser.get(back, headers={"Cookie": "stepward_login=other"})
            assert stranger.status_code == 401
            begun = await browser.get("/login/openid")
            allowed = await elsewhere.post(begun.headers["location"], data={"sub": "ada"})
            back = allowed.headers["location"].removeprefix("http://127.0.0.1:8321")
            assert (await browser.get(back)).status_code == status
            if status == 200:
                me = (await browser.get("/api/v1/me")).json()
                assert (me["name"], me["role"], me["payloads"]) == ("user:ada@example.com", "operator", False)
            # A code is good once.
            assert (await browser.get(back)).status_code == 401


def test_an_issuer_in_plain_text_elsewhere_is_refused() -> None:
    from stepward.errors import SettingsError

    settings = OpenIdSettings(
        issuer="http://idp.example",
        client_id="c",
        client_secret=None,
        claim="groups",
        roles={"x": (AccessRole.VIEWER, False)},
    )
    with pytest.raises(SettingsError, match=re.escape("https://")):
        settings.check()
