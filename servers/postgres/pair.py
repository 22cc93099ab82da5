"""A primary and its streaming standby: what is committed on one stands on both, and either may be lost."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from servers.postgres.programs import newest, reachable, run
from servers.postgres.server import START_SECONDS, Server, cluster, home

SYNCHRONY = "synchrony.conf"
RETRY_SECONDS = 0.5
ONE_STANDBY = "synchronous_standby_names = '*'\n"
NO_STANDBY = "synchronous_standby_names = ''\n"


class Pair:
    """Two servers of which one is the primary; its verbs block until they are done."""

    def __init__(self, first: Server, second: Server, *, synchronous: bool) -> None:
        self.primary = first
        self.standby = second
        self._servers = (first, second)
        self._synchronous = synchronous

    def address(self, database: str = "postgres") -> str:
        """An address that names both hosts, always in the same order."""
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in self._servers)
        return f"postgresql://postgres@{hosts}/{database}"

    def start(self) -> None:
        """Make both from nothing."""
        self.primary.initialize()
        include = self.primary.folder / "postgresql.conf"
        include.write_text(f"{include.read_text()}\ninclude_if_exists = '{SYNCHRONY}'\n")
        self.primary.start()
        self.attach()

    def stop(self) -> None:
        """Stop both."""
        for server in (self.standby, self.primary):
            server.stop(immediate=True)

    def attach(self) -> None:
        """Make the server that is not the primary its standby again, from a copy of it; the primary works on."""
        self.standby.stop(immediate=True)
        self._copy()
        self.standby.start()
        self.expect_standby(self._synchronous)

    def _copy(self) -> None:
        """Copy the primary's files. Raises RuntimeError if that fails for longer than a server's start may take.

        A primary that loses one of its processes ends all sessions, takes none until it has recovered, and breaks a
        copy under way.
        """
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                self._try_to_copy()
            except RuntimeError:
                if time.monotonic() > end:
                    raise
                time.sleep(RETRY_SECONDS)
            else:
                return

    def _try_to_copy(self) -> None:
        folder = self.standby.folder
        shutil.rmtree(folder)
        cluster(folder.parent, folder.name)
        source = f"host=127.0.0.1 port={self.primary.port} user=postgres"
        options = ["-D", str(folder), "-d", source, "-R", "-c", "fast", "--no-sync"]
        run(self.standby.programs / "pg_basebackup", *options, cwd=folder)

    def expect_standby(self, expected: bool) -> None:
        """Whether the primary's commits wait until the standby has them, too."""
        (self.primary.folder / SYNCHRONY).write_text(ONE_STANDBY if expected else NO_STANDBY)
        self.primary.reload()

    def fail_over(self) -> None:
        """Crash the primary, and make a primary of the standby; the other stays away until ``attach``."""
        self.crash()
        self.take_over()

    def crash(self) -> None:
        """Kill the primary; no server is primary until ``take_over``."""
        self.primary.stop(immediate=True)

    def take_over(self) -> None:
        """Make a primary of the standby after a ``crash``."""
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary
        # No standby is left to wait for.
        self.expect_standby(False)


@contextmanager
def paired(
    programs: Path | None = None,
    settings: Mapping[str, str] | None = None,
    *,
    synchronous: bool = True,
    prepare: Callable[[Server], None] | None = None,
) -> Iterator[Pair]:
    """A new pair for the length of the block; of the newest installed version by default.

    ``prepare`` is called with each server before it starts.
    """
    with home() as folder:
        found = reachable(programs or newest(), folder)
        first, second = (Server(found, cluster(folder, name), settings or {}) for name in ("first", "second"))
        for server in (first, second):
            if prepare is not None:
                prepare(server)
        pair = Pair(first, second, synchronous=synchronous)
        try:
            pair.start()
            yield pair
        finally:
            pair.stop()
