"""What holds for all tests."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import pytest

SHARED = ("rabbitmq", "nats3")
"""Servers that take long to start: one process runs all tests that need one, and starts it once."""
LONG = {
    "tests/appqueues/": ("rabbitmq",),
    "tests/benchmarks/": ("nats", "postgresql", "rabbitmq", "beside_one", "heirs"),
    "tests/cli/": ("rabbitmq",),
    "tests/cli/test_groups.py": ("cannot_start", "stands_still", "without_a_word"),
    "tests/crash/": ("one_of_three", "postgresql", "random_kills", ":", ">"),
    "tests/crash/test_kills.py": ("second_death",),
    "tests/crash/test_events.py": ("sqlite-W",),
    "tests/crash/test_submission.py": ("slept",),
    "tests/crash/test_zombies.py": ("sqlite-C", "sqlite-T", "sqlite-W2", "sqlite-W3"),
    "tests/examples/storefront/test_browser.py": ("only", "page", "posted", "without_scripts"),
    "tests/examples/storefront/test_looks.py": ("dark", "moves"),
    "tests/examples/storefront/test_whole_shop.py": ("no_address", "outlives", "payment_is_down"),
    "tests/examples/test_control_browser.py": ("0]", "all_faults", "could_not", "gone", "look", "returns", "says"),
    "tests/examples/test_control.py": ("badly", "links", "quick"),
    "tests/examples/test_demo.py": ("postgresql", "stopped"),
    "tests/examples/test_postgres_pair.py": ("both", "standby_dies"),
    "tests/examples/test_shop.py": ("closes[2]", "killed", "nats", "on_the_way", "postgresql"),
    "tests/longsteps/": ("nats", "rabbitmq"),
    "tests/many/test_apart.py": ("agent", "submission", "supervisor"),
    "tests/many/test_group.py": ("killed",),
    "tests/many/test_rolling.py": ("[15]",),
    "tests/many/test_told.py": ("migrate]", "run]"),
    "tests/store/conformance/": ("postgres_16", "postgres_pooled"),
    "tests/store/postgres/test_failover_commits.py": ("several_failovers",),
    "tests/store/test_differential.py": ("18-1", "18-2", "18-3"),
    "tests/torture/": ("short_torture",),
    "tests/transactions/test_relay.py": ("again_and_again", "postgresql"),
    "tests/transport/": ("nats3",),
    "tests/transport/nats/test_recovery.py": ("",),
}
"""Words in the names of tests that take longer than all that `make test` does may take: `make faults` runs them.

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
