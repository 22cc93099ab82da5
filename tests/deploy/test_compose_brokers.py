"""The worked example over a broker: the layers over its Compose files, held to the same rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from stepward.settings import Settings
from tests.deploy import compose_rules
from tests.deploy.compose_layers import laid_over, read
from tests.deploy.files import COMPOSE, ORDERS
from tests.deploy.test_compose import findings, misuse, validate
from tests.deploy.test_compose_postgresql import LAYER as POSTGRESQL
from tests.deploy.test_compose_postgresql import STORE, VARIABLES

ADDRESSES = {
    "nats": "nats://nats-1,nats-2,nats-3?replicas=3",
    "rabbitmq": "amqp://rabbitmq/orders",
}
SPEAKING = {"storefront", "submission", "scheduler", "agents"}


@pytest.fixture(params=ADDRESSES)
def broker(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def document(broker: str) -> dict[str, Any]:
    """All three files, one laid over the other."""
    database = laid_over(
        read(COMPOSE.read_text(encoding="utf-8")), read(POSTGRESQL.read_text(encoding="utf-8"), VARIABLES)
    )
    layer = (ORDERS / f"compose.{broker}.yaml").read_text(encoding="utf-8")
    return laid_over(database, read(layer, {f"ORDERS_{broker.upper()}": ADDRESSES[broker]}))


def words(service: dict[str, Any]) -> list[str]:
    return [*compose_rules.words_of(service), *map(str, service.get("environment", {}).values())]


def test_it_is_valid(document: dict[str, Any]) -> None:
    validate(document)


def test_our_rules_find_nothing(document: dict[str, Any]) -> None:
    assert compose_rules.complaints(document, misuse) == []


def test_the_linter_finds_nothing(document: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    assert findings(tmp_path / "compose.yaml") == []


def test_it_adds_no_service(document: dict[str, Any]) -> None:
    assert set(document["services"]) == set(read(COMPOSE.read_text(encoding="utf-8"))["services"])


def test_services_that_use_the_broker_know_and_reach_it(document: dict[str, Any], broker: str) -> None:
    for name, service in document["services"].items():
        assert any(ADDRESSES[broker] in word for word in words(service)) is (name in SPEAKING), name
        assert ("broker" in service.get("networks", [])) is (name in SPEAKING), name
        transport = service.get("environment", {}).get("STEPWARD_TRANSPORT", "store")
        assert (transport == ADDRESSES[broker]) is (name in SPEAKING - {"storefront"}), name


def test_the_storefront_knows_nothing_of_the_database(document: dict[str, Any]) -> None:
    storefront = document["services"]["storefront"]
    assert not any(STORE in word for word in words(storefront))
    assert set(storefront["networks"]) == {"outside", "broker"}
    assert not {"environment", "secrets"} & set(storefront)


def test_their_settings_are_settings(document: dict[str, Any]) -> None:
    for service in document["services"].values():
        Settings.load({}, service.get("environment", {}), Path("/"))


def test_without_an_address_nothing_begins(broker: str) -> None:
    with pytest.raises(KeyError, match=f"ORDERS_{broker.upper()}"):
        read((ORDERS / f"compose.{broker}.yaml").read_text(encoding="utf-8"))
