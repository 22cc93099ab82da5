"""The worked example on PostgreSQL: the layer over its Compose file, held to the same rules."""

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

LAYER = ORDERS / "compose.postgresql.yaml"
STORE = "postgresql://orders@db-1,db-2/orders"
VARIABLES = {"ORDERS_STORE": STORE, "ORDERS_PGPASS": "/srv/orders/pgpass"}
SHARING = {"storefront", "submission", "scheduler", "supervisor", "bookkeeper", "agents"}


@pytest.fixture
def document() -> dict[str, Any]:
    """Both files, the one laid over the other."""
    base = read(COMPOSE.read_text(encoding="utf-8"))
    return laid_over(base, read(LAYER.read_text(encoding="utf-8"), VARIABLES))


def test_it_is_valid(document: dict[str, Any]) -> None:
    validate(document)


def test_our_rules_find_nothing(document: dict[str, Any]) -> None:
    assert compose_rules.complaints(document, misuse) == []


def test_the_linter_finds_nothing(document: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    assert findings(tmp_path / "compose.yaml") == []


def test_it_adds_no_service(document: dict[str, Any]) -> None:
    assert set(document["services"]) == set(read(COMPOSE.read_text(encoding="utf-8"))["services"])


def test_services_with_the_store_use_the_database(document: dict[str, Any]) -> None:
    for name, service in document["services"].items():
        words = [*compose_rules.words_of(service), *map(str, service.get("environment", {}).values())]
        assert any(STORE in word for word in words) is (name in SHARING), name
        assert not any("sqlite:" in word for word in words), name


def test_services_with_the_store_reach_the_database(document: dict[str, Any]) -> None:
    for name, service in document["services"].items():
        assert ("database" in service.get("networks", [])) is (name in SHARING), name
        assert ("pgpass" in service.get("secrets", [])) is (name in SHARING), name
        assert (service.get("environment", {}).get("PGPASSFILE") == "/run/secrets/pgpass") is (name in SHARING), name
        assert "network_mode" not in service or name not in SHARING, name


def test_the_storefront_alone_keeps_a_file_beside_it(document: dict[str, Any]) -> None:
    with_file = {name for name, each in document["services"].items() if "orders:/data" in each.get("volumes", [])}
    assert with_file == {"storefront"}


def test_there_are_several_of_what_works_on_tasks(document: dict[str, Any]) -> None:
    replicas = {name: each["deploy"].get("replicas", 1) for name, each in document["services"].items()}
    assert {name: number for name, number in replicas.items() if number > 1} == {
        "submission": 2,
        "scheduler": 4,
        "supervisor": 2,
        "agents": 2,
    }


def test_their_settings_are_settings(document: dict[str, Any]) -> None:
    for service in document["services"].values():
        Settings.load({}, service.get("environment", {}), Path("/"))


def test_without_an_address_nothing_begins() -> None:
    with pytest.raises(KeyError, match="ORDERS_PGPASS"):
        read(LAYER.read_text(encoding="utf-8"), {"ORDERS_STORE": STORE})
