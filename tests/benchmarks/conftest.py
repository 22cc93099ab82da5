"""A place on each store, as small as the measures that the tests run there."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.store_locations import Place, PostgresBench, SqlitePlace
from servers.postgres import Server, versions
from tests.store.postgres.server import Servers
from tests.tiers import sampled


@pytest.fixture(scope="session")
def server(servers: Servers) -> Server:
    return servers.of(max(versions()))


@pytest.fixture
def postgres(server: Server, tmp_path: Path) -> PostgresBench:
    return PostgresBench(server, tmp_path)


@pytest.fixture(params=sampled(("sqlite", "postgresql"), "sqlite"))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return SqlitePlace(tmp_path)
    chosen: PostgresBench = request.getfixturevalue("postgres")
    return chosen
