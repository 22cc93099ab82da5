"""Where the console may be started: bind address, TLS, proxy and authentication, each way."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from stepward import App, Client
from stepward.cli.main import cli
from stepward.errors import SettingsError
from stepward.http.access.access_rules import AccessRules
from stepward.http.start_rules import ListenAddress, StartPlan, access_rules

EVERYWHERE = ("0.0.0.0", "::", "10.1.2.3", "example.org")
LOOPBACK = ("127.0.0.1", "::1", "localhost")
TLS = {"certificate": "c.pem", "key": "k.pem"}
PROXY = {"proxy": "10.0.0.0/24", "url": "https://ops.example"}


def rules(host: str, **more: object) -> AccessRules:
    return access_rules(StartPlan(address=ListenAddress(host=host, port=8321), **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("host", LOOPBACK)
def test_on_loopback_it_works_at_once(host: str) -> None:
    assert rules(host).local_admin


@pytest.mark.parametrize("host", EVERYWHERE)
@pytest.mark.parametrize("more", [{}, {"has_tokens": True}, {"has_provider": True}])
def test_anywhere_else_it_needs_tls(host: str, more: dict[str, bool]) -> None:
    with pytest.raises(SettingsError, match="expected TLS"):
        rules(host, **more)


@pytest.mark.parametrize("host", EVERYWHERE)
@pytest.mark.parametrize("way", [TLS, PROXY])
def test_anywhere_else_it_needs_authentication(host: str, way: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="stepward token create"):
        rules(host, **way)
    for more in ({"has_tokens": True}, {"has_provider": True}):
        assert not rules(host, **way, **more).local_admin


@pytest.mark.parametrize("host", LOOPBACK)
@pytest.mark.parametrize("way", [TLS, PROXY])
def test_behind_a_proxy_or_tls_no_request_is_a_local_admins(host: str, way: dict[str, str]) -> None:
    assert not rules(host, **way, has_tokens=True).local_admin


def test_where_people_sign_in_no_request_is_a_local_admins() -> None:
    assert not rules("127.0.0.1", has_provider=True).local_admin


@pytest.mark.parametrize(
    "more",
    [
        {"certificate": "c.pem"},
        {"proxy": "10.0.0.1"},
        {"proxy": "nonsense", "url": "https://ops.example"},
        {"proxy": "10.0.0.1", "url": "http://ops.example"},
    ],
)
def test_what_is_half_given_is_refused(more: dict[str, str]) -> None:
    with pytest.raises(SettingsError):
        rules("10.1.2.3", has_tokens=True, **more)


async def test_the_command_refuses_in_one_line_with_exit_code_2(app: App, client: Client) -> None:
    import asyncio

    def run() -> tuple[int, str]:
        done = CliRunner().invoke(cli, ["console", app.settings.store, "--host", "0.0.0.0"])
        return done.exit_code, done.stderr

    code, said = await asyncio.to_thread(run)
    assert (code, said.count("\n")) == (2, 1)
    assert said.startswith("stepward: console: expected TLS")


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    assert CliRunner().invoke(cli, ["console", f"sqlite:///{tmp_path}/none.db"]).exit_code == 3
    assert list(tmp_path.iterdir()) == []
