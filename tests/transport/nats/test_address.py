from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from stepward.errors import SettingsError
from stepward.transport.nats.address import nats_address
from tests.transport.brokers import opened

pytestmark = pytest.mark.servers


@pytest.mark.parametrize(
    ("address", "servers", "replicas", "shown"),
    [
        ("nats://one", ["nats://one:4222"], 1, "one:4222"),
        ("nats://one:5222/", ["nats://one:5222"], 1, "one:5222"),
        ("nats://[::1]", ["nats://[::1]:4222"], 1, "[::1]:4222"),
        ("tls://a:b@one", ["tls://a:b@one:4222"], 1, "one:4222"),
        (
            "nats://user:pw@one,two:5222?replicas=3",
            ["nats://user:pw@one:4222", "nats://user:pw@two:5222"],
            3,
            "one:4222,two:5222",
        ),
    ],
)
def test_an_address_names_servers(address: str, servers: list[str], replicas: int, shown: str) -> None:
    found = nats_address(address)
    assert (found.servers, found.replicas, found.shown) == (servers, replicas, shown)


@pytest.mark.parametrize(
    ("address", "user", "servers"),
    [
        ("nats://ada:pw@one", "ada", ["nats://ada:pw@one:4222"]),
        ("nats://ada@one?nkey=f", "ada", ["nats://one:4222"]),
        ("tls://ada@one?credentials=f", "ada", ["tls://one:4222"]),
        ("nats://one?nkey=f", "", ["nats://one:4222"]),
        ("nats://token@one", "", ["nats://token@one:4222"]),
        ("nats://a.b:pw@one", "", ["nats://a.b:pw@one:4222"]),
    ],
)
def test_a_user_has_answers_of_its_own_and_a_token_is_in_no_subject(
    address: str, user: str, servers: list[str]
) -> None:
    found = nats_address(address)
    assert (found.user, found.servers) == (user, servers)


@pytest.mark.parametrize(
    "address",
    [
        "nats://",
        "nats://user:canary@one?nkey=f",
        "nats://user:canary@one?credentials=f",
        "nats://can.ary@one?nkey=f",
        "nats://one,",
        "nats://one:port",
        "nats://one:99999",
        "nats://[::1",
        "nats://user:canary@one/path",
        "nats://user:canary@one?replicas=2",
        "nats://user:canary@one?replicas=",
        "nats://user:canary@one?speed=9",
    ],
)
def test_all_else_is_refused_in_one_line_without_the_password(address: str) -> None:
    with pytest.raises(SettingsError, match=r"transport: expected nats://HOST") as refused:
        nats_address(address)
    assert "canary" not in str(refused.value)
    assert "\n" not in str(refused.value)


async def test_a_missing_client_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec

    def without(name: str, package: str | None = None) -> Any:
        return None if name == "nats" else find(name, package)

    monkeypatch.setattr("stepward.transport.open_broker.find_spec", without)
    with pytest.raises(SettingsError, match=r"found it missing; install stepward\[nats\]"):
        await opened("nats://127.0.0.1:1", app="shop")
