"""One PostgreSQL server in a folder of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import asyncpg

from servers.ports import free_port
from servers.postgres.programs import give, newest, reachable, run, user

START_SECONDS = 60
LOOK_SECONDS = 0.01
READY = ("ready", "standby")
"""What the last line of ``postmaster.pid`` says of a server that takes connections."""
SETTINGS: Mapping[str, str] = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "log_min_messages": "fatal",
}


UNSYNCED: Mapping[str, str] = {"fsync": "off", "full_page_writes": "off"}
"""Settings with which nothing waits for the disk: what is committed outlives the server's crash, not the machine's."""


class Server:
    """A server over the cluster in ``folder``; its verbs block until they are done."""

    def __init__(self, programs: Path, folder: Path, settings: Mapping[str, str], port: int | None = None) -> None:
        self.environment: Mapping[str, str] = {}
        """Variables for its processes, beside those of this one."""
        self.port = port or free_port()
        self.folder = folder
        self.programs = programs
        self.log = folder.parent / f"{folder.name}.log"
        self._settings = {**SETTINGS, **settings}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Of the process that all its others descend from."""
        assert self._process is not None, "runs"
        return self._process.pid

    @property
    def runs(self) -> bool:
        """Whether it was started, and has not been stopped."""
        return self._process is not None

    def address(self, database: str = "postgres", user: str = "postgres") -> str:
        """The address of one of its databases."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    async def execute(self, sql: str, database: str = "postgres") -> str:
        """Execute statements as its administrator."""
        connection = await asyncpg.connect(self.address(database))
        try:
            return await connection.execute(sql)
        finally:
            await connection.close()

    def initialize(self) -> None:
        """Make a new, empty cluster that trusts every connection on loopback."""
        options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        run(self.programs / "initdb", "-D", str(self.folder), *options, cwd=self.folder)

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        options = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        command = [str(self.programs / "postgres"), "-D", str(self.folder), "-p", str(self.port), *options]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, user=user(), stdout=log, stderr=log, cwd=self.folder, env={**os.environ, **self.environment}
            )
        self._await_ready(self._process)

    def stop(self, *, immediate: bool = False) -> None:
        """Shut down: fast, or as a crash would, without a checkpoint."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT if immediate else signal.SIGINT)
            self._process.wait(START_SECONDS)
            self._process = None

    def promote(self) -> None:
        """Make a primary of a standby."""
        run(self.programs / "pg_ctl", "promote", "-D", str(self.folder), "-t", str(START_SECONDS), cwd=self.folder)

    def reload(self) -> None:
        """Read the files of settings again."""
        assert self._process is not None, "runs"
        self._process.send_signal(signal.SIGHUP)

    def _await_ready(self, process: subprocess.Popen[bytes]) -> None:
        end = time.perf_counter() + START_SECONDS
        while not self._is_ready(process.pid):
            if process.poll() is not None:
                said = self.log.read_text(errors="replace").strip() or "nothing"
                raise RuntimeError(f"PostgreSQL: expected it to start, found it ended; it said {said.splitlines()[-1]}")
            if time.perf_counter() > end:
                raise RuntimeError(f"PostgreSQL: expected it to start within {START_SECONDS} s, found it did not")
            time.sleep(LOOK_SECONDS)

    def _is_ready(self, pid: int) -> bool:
        try:
            lines = (self.folder / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > 7 and lines[0] == str(pid) and lines[7].strip() in READY


@contextmanager
def running(programs: Path | None = None, settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    """A new server for the length of the block; of the newest installed version by default."""
    with home() as folder:
        server = Server(reachable(programs or newest(), folder), cluster(folder, "data"), settings or {})
        server.initialize()
        try:
            server.start()
            yield server
        finally:
            server.stop()


@contextmanager
def home() -> Iterator[Path]:
    """A folder that the servers' user may enter, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="stepward-postgres-"))
    try:
        folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def cluster(folder: Path, name: str) -> Path:
    """A new folder for a cluster's files."""
    data = folder / name
    data.mkdir(mode=0o700)
    give(data)
    return data
