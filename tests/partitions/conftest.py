"""The stores of the tests of moves, on each engine."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from servers.postgres import versions
from tests.partitions.places import in_files, in_schemas
from tests.store.postgres.server import Servers
from tests.tiers import served

NUMBERS = count(1)


@pytest.fixture(params=["sqlite", served("postgres")])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """Three stores, of which an application begins with two."""
    if request.param == "postgres":
        return list(request.getfixturevalue("postgres_stores"))
    return in_files(tmp_path)


@pytest.fixture
def postgres_stores(servers: Servers) -> Iterator[list[str]]:
    """The same in one database of PostgreSQL."""
    server, name = servers.of(max(versions())), f"moving_{next(NUMBERS)}"
    with psycopg.connect(server.address(), autocommit=True) as session:
        session.execute(f"create database {name}")
        yield in_schemas(server.address(name))
        session.execute(f"drop database {name} with (force)")
