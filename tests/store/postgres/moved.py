"""Real clocks that a test moves: of a server or of processes, through libfaketime."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from servers.clocks import LIBRARIES, MovedClock
from servers.postgres import versions
from servers.postgres.programs import reachable
from servers.postgres.server import cluster, home
from tests.store.postgres.server import SETTINGS, Server

NEEDS_LIBRARY = pytest.mark.skipif(
    not LIBRARIES and "CI" not in os.environ,  # On continuous integration nothing is skipped: there the test fails.
    reason="expected libfaketime, found none; run tests/install-programs",
)


@contextmanager
def moved_server() -> Iterator[tuple[Server, MovedClock]]:
    """A server of the newest version with a clock of its own."""
    with home() as folder:
        server = Server(reachable(versions()[max(versions())], folder), cluster(folder, "data"), SETTINGS)
        server.initialize()
        clock = MovedClock(folder)
        server.environment = clock.environment
        try:
            server.start()
            yield server, clock
        finally:
            clock.move("+0")
            server.stop()
