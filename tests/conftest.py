"""What holds for all tests."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

SHARED = ("rabbitmq", "nats3")
"""Servers that take long to start: one process runs all tests that need one, and starts it once."""
LONG = {
    "tests/appqueues/": ("rabbitmq",),
    "tests/benchmarks/": ("nats", "rabbitmq"),
    "tests/cli/": ("rabbitmq",),
    "tests/longsteps/": ("nats", "rabbitmq"),
    "tests/transport/nats/test_recovery.py": ("",),
}
"""Where tests over these brokers take longer than all that `make test` does may take: `make faults` runs them."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Keep tests that need the same servers together, and those that take long apart."""
    for item in items:
        for server in SHARED:
            if server in item.nodeid:
                item.add_marker(pytest.mark.xdist_group(server))
        for place, brokers in LONG.items():
            if item.nodeid.startswith(place) and any(broker in item.nodeid for broker in brokers):
                item.add_marker(pytest.mark.faults)
