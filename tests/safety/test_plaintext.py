"""Connections to other hosts are encrypted, unless their address says that the network is trusted."""

from __future__ import annotations

import random

import pytest
from nats.aio.client import ServerVersion

from stepward.clock import Environment, SystemClock, no_failpoint
from stepward.errors import SettingsError, TransportError
from stepward.events import Observers
from stepward.settings.plaintext_connections import check_database, encrypted_broker
from stepward.store.store_at_address import identify
from stepward.transport.nats.connection import check_version
from stepward.transport.open_broker import broker_queues

HERE = [
    "postgresql:///shop",
    "postgresql://ada@localhost/shop",
    "postgresql://ada:pw@127.0.0.1:5432/shop",
    "postgresql://ada@[::1]:5432,127.0.0.2/shop",
    "postgresql://%2Fvar%2Frun/shop",
    "postgresql:///shop?host=/var/run/postgresql",
]
AWAY = [
    "postgresql://ada@db.example/shop",
    "postgresql://ada@localhost,10.0.0.7:5432/shop",
    "postgresql://ada@[2001:db8::1]:5432/shop",
    "postgresql:///shop?host=db.example",
    "postgresql://ada@127.0.0.1.evil.example/shop",
    "postgresql://127.0.0.1@db.example/shop",
]


@pytest.mark.parametrize(
    "address", [*HERE, *(f"{each}{'&' if '?' in each else '?'}sslmode=verify-full" for each in AWAY)]
)
def test_a_database_of_this_host_or_with_a_mode_of_encryption_is_accepted(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGSSLMODE", raising=False)
    check_database(address)


@pytest.mark.parametrize("address", AWAY)
def test_a_database_elsewhere_that_would_be_asked_in_plain_text_is_refused(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGSSLMODE", raising=False)
    with pytest.raises(SettingsError, match=r"expected sslmode= for the host .* add \?sslmode=verify-full"):
        identify(address)
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    check_database(address)


@pytest.mark.parametrize(
    "address", ["nats://ada:canary@mq.example", "amqp://ada:canary@127.0.0.1,mq.example/v?prefix=p"]
)
async def test_a_broker_elsewhere_that_would_be_asked_in_plain_text_is_refused(address: str) -> None:
    environment = Environment(SystemClock(), random.Random(1), no_failpoint)
    with pytest.raises(SettingsError, match=r"expected TLS to the host mq\.example, found none") as caught:
        broker_queues(address, app="shop", now=lambda: 0.0, environment=environment, observers=Observers(), bury=None)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "used"),
    [
        ("nats://127.0.0.1:4222", "nats://127.0.0.1:4222"),
        ("tls://one,two?ca=f", "tls://one,two?ca=f"),
        ("nats://one?ca=f&replicas=3", "nats://one?ca=f&replicas=3"),
        ("nats://one,two?plaintext=allowed&replicas=3", "nats://one,two?replicas=3"),
        ("amqps://one/shop", "amqps://one/shop"),
        ("amqp://one/shop?plaintext=allowed", "amqp://one/shop"),
        ("amqp://[::1]:5672/shop", "amqp://[::1]:5672/shop"),
    ],
)
def test_a_broker_over_tls_on_this_host_or_allowed_by_its_address_is_accepted(address: str, used: str) -> None:
    assert encrypted_broker(address) == used


def test_only_one_word_allows_plain_text() -> None:
    with pytest.raises(SettingsError, match="expected plaintext=allowed or none"):
        encrypted_broker("nats://one?plaintext=yes")


@pytest.mark.parametrize(
    ("version", "is_accepted"), [("2.12.6", False), ("2.11.99", False), ("2.12.7", True), ("2.14.0", True)]
)
def test_a_nats_server_whose_permissions_can_be_gone_around_is_refused(version: str, is_accepted: bool) -> None:
    if is_accepted:
        check_version(ServerVersion(version))
    else:
        with pytest.raises(TransportError, match=r"expected 2\.12\.7 or newer"):
            check_version(ServerVersion(version))
