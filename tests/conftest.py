"""What holds for all tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.scratch import write_in_memory
from tests.store.postgres.server import SERVERS, Servers

SHARED = ("rabbitmq", "nats3", "pairs")
"""Servers that take long to start: one process runs all tests that need one, and starts it once."""
PROGRAMS = ("postgres", "nats-server", "rabbitmq-server")
SECOND_TIER = ("servers", "faults")

write_in_memory()

_at_work: list[pytest.Item] = []
"""The test that runs."""


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> Generator[None, None, None]:
    """Keep tests that need the same servers together."""
    for item in items:
        for server in SHARED:
            if server in item.nodeid or server in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.xdist_group(server))
    yield  # A wrapper goes first: this mark has to be there before any plugin acts on them.


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    _at_work[:] = [item]
    return (yield)


def _expect_a_mark(event: str, args: tuple[Any, ...]) -> None:
    """Keep real servers out of the first tier."""
    if event != "subprocess.Popen" or Path(os.fsdecode(args[0])).name not in PROGRAMS:
        return
    for item in _at_work:
        if not any(item.get_closest_marker(mark) for mark in SECOND_TIER):
            pytest.fail(f"{item.nodeid}: expected the mark servers, as it starts {args[0]}, found none")


sys.addaudithook(_expect_a_mark)


@pytest.fixture(scope="session")
def servers() -> Servers:
    """The PostgreSQL servers of this process, each begun when a test first asks for it."""
    return SERVERS
