"""What holds for all tests."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import pytest

SHARED = ("rabbitmq", "nats3")
"""Servers that take long to start: one process runs all tests that need one, and starts it once."""
LONG = {
    "tests/appqueues/": ("rabbitmq",),
    "tests/benchmarks/": ("nats", "postgresql", "rabbitmq"),
    "tests/cli/": ("rabbitmq",),
    "tests/crash/": ("one_of_three", "postgresql", "random_kills", ":", ">"),
    "tests/examples/test_demo.py": ("postgresql",),
    "tests/examples/test_shop.py": ("nats", "postgresql"),
    "tests/longsteps/": ("nats", "rabbitmq"),
    "tests/torture/": ("short_torture",),
    "tests/transport/nats/test_recovery.py": ("",),
}
"""Words in the names of tests that take longer than all that `make test` does may take: `make faults` runs them.

Those of `tests/crash/` die twice, at a later visit, at random, over a server or beside others; one dies alone.
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
