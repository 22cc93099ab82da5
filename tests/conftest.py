"""What holds for all tests."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import pytest

from tests.store.postgres.server import SERVERS, Servers

SHARED = ("rabbitmq", "nats3")
"""Servers that take long to start: one process runs all tests that need one, and starts it once."""
LONG = {
    "tests/appqueues/": ("rabbitmq",),
    "tests/benchmarks/": ("nats", "postgresql"),
    "tests/cli/": ("rabbitmq",),
    "tests/crash/": ("postgresql", ":", ">"),
    "tests/crash/test_events.py": ("sqlite-W",),
    "tests/crash/test_zombies.py": ("sqlite-C", "sqlite-T", "sqlite-W2", "sqlite-W3"),
    "tests/examples/storefront/test_looks.py": ("dark",),
    "tests/longsteps/": ("nats", "rabbitmq"),
    "tests/transactions/test_relay.py": ("postgresql",),
    "tests/transport/": ("nats3",),
}
"""Words in the names of cases that take longer than all that `make test` does may take: `make faults` runs them.

Tests of which every case takes that long are marked where they stand.

`make test` keeps one of each kind: a death alone and not two at once or over a server, the oldest and the newest
PostgreSQL without a pooler and not those between, one node of NATS and not three, the main ways through a page and
not every way.
"""


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> Generator[None, None, None]:
    """Keep tests that need the same servers together, and those that take long apart."""
    for item in items:
        for server in SHARED:
            if server in item.nodeid:
                item.add_marker(pytest.mark.xdist_group(server))
        for place, words in LONG.items():
            if item.nodeid.startswith(place) and any(word in item.name for word in words):
                item.add_marker(pytest.mark.faults)
    yield  # A wrapper goes first: these marks have to be there before any plugin acts on them.


@pytest.fixture(scope="session")
def servers() -> Servers:
    """The PostgreSQL servers of this process, each begun when a test first asks for it."""
    return SERVERS
