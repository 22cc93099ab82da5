"""PgBouncer in front of a PostgreSQL server, from Debian's package, in a folder of its own."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from servers.ports import free_port
from servers.postgres.programs import give, user
from servers.postgres.server import home

PROGRAM = Path("/usr/sbin/pgbouncer")
START_SECONDS = 30
LOOK_SECONDS = 0.02
TRUSTED: Mapping[str, str] = MappingProxyType({"postgres": ""})
SETTINGS = """
[databases]
* = host=127.0.0.1 port={server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = {auth}
auth_file = {folder}/users
pool_mode = {mode}
default_pool_size = {size}
max_client_conn = 1000
server_round_robin = 1
"""
"""Round robin has a client meet another process of the server after each transaction, as far as there are some."""


@contextmanager
def running(server: int, mode: str, *, size: int = 20, users: Mapping[str, str] = TRUSTED) -> Iterator[int]:
    """PgBouncer in front of the server at that port, in that pool mode; its own port.

    Users with passwords have to give them, and it gives them to the server.
    """
    auth = "scram-sha-256" if any(users.values()) else "trust"
    known = "".join(f'"{user}" "{password}"\n' for user, password in users.items())
    with home() as folder:
        port = free_port()
        settings = SETTINGS.format(server=server, port=port, folder=folder, mode=mode, size=size, auth=auth)
        for name, text in {"settings.ini": settings, "users": known}.items():
            (folder / name).write_text(text)
            give(folder / name)
        said = folder / "said"
        with said.open("wb") as output:
            process = subprocess.Popen(
                [str(PROGRAM), str(folder / "settings.ini")], cwd=folder, user=user(), stdout=output, stderr=output
            )
        try:
            _await_ready(process, port, said)
            yield port
        finally:
            process.kill()
            process.wait(START_SECONDS)


def _await_ready(process: subprocess.Popen[bytes], port: int, said: Path) -> None:
    end = time.perf_counter() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=2).close()
            return
        except OSError:
            if process.poll() is not None or time.perf_counter() > end:
                words = said.read_text(errors="replace")[-500:]
                raise RuntimeError(f"PgBouncer: expected it to start, found it did not: {words}") from None
            time.sleep(LOOK_SECONDS)
