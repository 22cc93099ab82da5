"""PostgreSQL servers of the tests' own: begun once per process and version, on loopback, gone with the process."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from servers import postgres
from servers.postgres import versions
from servers.postgres.programs import reachable
from servers.postgres.server import cluster, home

WITH_PASSWORD = "secretive"
"""The one user who must give a password."""
SETTINGS = {"autovacuum": "off", **postgres.UNSYNCED}

SHARED = "conformance"
EMPTY = """
do $$ declare name text; begin
    for name in select tablename from pg_tables where schemaname = 'public' loop
        execute format('drop table public.%I cascade', name);
    end loop;
    for name in select tablename from pg_tables where schemaname = 'stepward_shop' loop
        execute case name
            when 'meta' then
                'delete from stepward_shop.meta where key not in (''app'', ''schema_version'', ''schema_part'', '
                '''store_id'', ''request_key'', ''completion_key'')'
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


class Server(postgres.Server):
    """A running server that makes databases."""

    _made = 0

    def __init__(self, programs: Path, folder: Path, settings: Mapping[str, str]) -> None:
        super().__init__(programs, folder, settings)
        self._shared: set[str] = set()
        self._sessions: dict[str, psycopg.Connection[tuple[Any, ...]]] = {}

    async def create(self, template: str = "template1") -> str:
        """A new database; its name."""
        self._made += 1
        name = f"{template}_{self._made}"
        await self.execute(f"create database {name} template {template}")
        return name

    async def emptied(self, name: str = SHARED) -> str:
        """A database without a table in ``public``, in which the store of ``shop`` is empty; its name."""
        if name not in self._shared:
            await self.execute(f"create database {name}")
            self._shared.add(name)
        try:
            self._session(name).execute(EMPTY)
        except psycopg.OperationalError:
            # A test ended all sessions, or the server.
            self._sessions.pop(name).close()
            self._session(name).execute(EMPTY)
        return name

    def stop(self, *, immediate: bool = False) -> None:
        """Shut down, and let the own sessions go."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()
        super().stop(immediate=immediate)

    def _session(self, name: str) -> psycopg.Connection[tuple[Any, ...]]:
        """A session that stays: in a new one, what empties a database must be planned, which takes most of the time."""
        if name not in self._sessions:
            self._sessions[name] = psycopg.connect(self.address(name), autocommit=True)
        return self._sessions[name]

    async def drop(self, name: str) -> None:
        await self.execute(f"drop database if exists {name} with (force)")


class Servers:
    """The servers of this process, by version."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._running: dict[str, Server] = {}
        atexit.register(self._stack.close)

    def of(self, version: str) -> Server:
        """The server of that version, begun when it is first asked for."""
        if version not in self._running:
            self._running[version] = self._stack.enter_context(running(versions()[version]))
        return self._running[version]

    async def emptied(self, version: str) -> str:
        """The address of a database in which the store of ``shop`` is empty; the same one again and again."""
        server = await asyncio.to_thread(self.of, version)
        return server.address(await server.emptied())


SERVERS = Servers()


@contextmanager
def running(programs: Path, *, in_recovery: bool = False) -> Iterator[Server]:
    """A new server in a folder of its own; one in recovery is a standby that has lost its primary."""
    with home() as folder:
        server = Server(reachable(programs, folder), cluster(folder, "data"), SETTINGS)
        server.initialize()
        rules = server.folder / "pg_hba.conf"
        rules.write_text(f"host all {WITH_PASSWORD} 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
        if in_recovery:
            (server.folder / "standby.signal").touch()
        try:
            server.start()
            yield server
        finally:
            server.stop()
