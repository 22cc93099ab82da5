"""PostgreSQL servers for the tests of this folder, each begun when a test first asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.store.postgres.server import Servers


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    with Servers() as servers:
        yield servers
