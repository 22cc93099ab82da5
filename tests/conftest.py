"""What holds for all tests."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.forks import BY_INTERPRETERS, FORKS
from tests.scratch import write_in_memory
from tests.shortcuts import BY_MIGRATIONS, copy_for, copy_new_stores, skip_own_settings
from tests.store.postgres.server import SERVERS, Servers

SHARED = ("rabbitmq", "nats3", "pairs")
"""Servers that take long to start: one process runs all tests that need one, and starts it once."""
PROGRAMS = ("postgres", "nats-server", "rabbitmq-server")
SECOND_TIER = ("servers", "faults")
NEEDS_SERVERS = re.compile(r"\bmark\.servers\b|\bserved\b")
"""What a module, or the conftest.py beside it, says if it has tests of the second tier."""

write_in_memory()
copy_new_stores()
skip_own_settings()

_at_work: list[pytest.Item] = []
"""The test that runs."""


def pytest_configure(config: pytest.Config) -> None:
    """Begin programs as forks in the second tier, where hundreds begin."""
    if _is_second_tier(config):
        FORKS.install()
    # A busy machine may hold up any example.
    settings.register_profile("unhurried", deadline=None)
    settings.load_profile("unhurried")


def pytest_unconfigure() -> None:
    FORKS.close()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out modules that have nothing for the second tier, if it alone is asked for: two of three."""
    is_left_out = collection_path.suffix == ".py" and not _may_need_servers(collection_path)
    return True if _is_second_tier(config) and is_left_out else None


def _is_second_tier(config: pytest.Config) -> bool:
    return str(config.option.markexpr).startswith("servers")


def _may_need_servers(module: Path) -> bool:
    files = (module, module.with_name("conftest.py"))
    return any(file.exists() and NEEDS_SERVERS.search(file.read_text()) for file in files)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> Generator[None, None, None]:
    """Keep tests that need the same servers together."""
    needing = {item.path for item in items if item.get_closest_marker("servers")}
    for module in needing:
        if not _may_need_servers(module):
            raise pytest.UsageError(
                f"{module}: expected mark.servers or served in it or in its conftest, found neither"
            )
    for item in items:
        for server in SHARED:
            if server in item.nodeid or server in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.xdist_group(server))
    yield  # A wrapper goes first: this mark has to be there before any plugin acts on them.


def pytest_collection_finish() -> None:
    """Spare the collector of garbage what stays to the end: it took a tenth of the time of tests."""
    gc.collect()
    gc.freeze()
    FORKS.prepare()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    _at_work[:] = [item]
    copy_for(by_migrations=item.get_closest_marker(BY_MIGRATIONS) is not None)
    FORKS.is_wanted = item.get_closest_marker(BY_INTERPRETERS) is None
    return (yield)


def _expect_a_mark(event: str, args: tuple[Any, ...]) -> None:
    """Keep real servers out of the first tier."""
    if event != "subprocess.Popen" or Path(os.fsdecode(args[0])).name not in PROGRAMS:
        return
    for item in _at_work:
        if not any(item.get_closest_marker(mark) for mark in SECOND_TIER):
            pytest.fail(f"{item.nodeid}: expected the mark servers, as it starts {args[0]}, found none")


sys.addaudithook(_expect_a_mark)


@pytest.fixture(autouse=True)
def collector_as_before() -> Iterator[None]:
    """A test that serves within this process sets its garbage collector up, which is not for the tests that follow."""
    thresholds, callbacks = gc.get_threshold(), list(gc.callbacks)
    yield
    if gc.get_threshold() != thresholds or gc.callbacks != callbacks:
        gc.set_threshold(*thresholds)
        gc.callbacks[:] = callbacks
        gc.unfreeze()
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session")
def servers() -> Servers:
    """The PostgreSQL servers of this process, each begun when a test first asks for it."""
    return SERVERS
