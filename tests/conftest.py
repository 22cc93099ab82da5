"""What holds for all tests."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import pytest

from tests.store.postgres.server import SERVERS, Servers

SHARED = ("rabbitmq", "nats3")
"""Servers that take long to start: one process runs all tests that need one, and starts it once."""


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> Generator[None, None, None]:
    """Keep tests that need the same servers together."""
    for item in items:
        for server in SHARED:
            if server in item.nodeid:
                item.add_marker(pytest.mark.xdist_group(server))
    yield  # A wrapper goes first: this mark has to be there before any plugin acts on them.


@pytest.fixture(scope="session")
def servers() -> Servers:
    """The PostgreSQL servers of this process, each begun when a test first asks for it."""
    return SERVERS
