"""Real clocks that a test moves: of a server or of processes, through libfaketime."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from servers.postgres import versions
from servers.postgres.programs import reachable
from servers.postgres.server import cluster, home
from tests.store.postgres.server import SETTINGS, Server

LIBRARIES = (
    *Path("/usr/lib").glob("*/faketime/libfaketime.so.1"),
    *Path("/usr/lib/faketime").glob("libfaketime.so.1"),
    *Path("/usr/lib64/faketime").glob("libfaketime.so.1"),
)
"""Where distributions have it; tests/install-programs installs it."""
NEEDS_LIBRARY = pytest.mark.skipif(
    not LIBRARIES and "CI" not in os.environ,  # On continuous integration nothing is skipped: there the test fails.
    reason="expected libfaketime, found none; run tests/install-programs",
)


class MovedClock:
    """The wall clock of all processes that are begun with ``environment``; it runs right until it is moved."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.move("+0")

    @property
    def environment(self) -> Mapping[str, str]:
        """For a process whose clock this is to be. The boot clock stays right: nobody sets that of a host."""
        return {
            "LD_PRELOAD": str(LIBRARIES[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }

    def move(self, text: str) -> None:
        """From now on it is ahead by so many seconds (``+60``), or behind, and runs so fast (``+0 x1.05``)."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{text}\n")
        new.chmod(0o644)
        new.replace(self._file)


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
