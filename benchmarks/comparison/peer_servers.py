"""The servers that products store in, each fresh in a folder of its own, with the durability that it has by default."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from servers import postgres, rabbitmq
from servers.ports import free_port

PEERS = Path("build/peers")
RESTATE = PEERS / "npm/node_modules/@restatedev"
POSTGRES_SETTINGS: Mapping[str, str] = {
    "shared_buffers": "256MB",
    "max_connections": "300",
    # A checkpoint in the middle of a round would distort that round.
    "max_wal_size": "8GB",
    "checkpoint_timeout": "1h",
}
"""Settings beside the defaults, for all products on PostgreSQL; commits are as durable as ever."""
START_SECONDS = 60.0
END_SECONDS = 20.0
LOOK_SECONDS = 0.05


class PeerServer(NamedTuple):
    """Where a program stores, and which process does it; None if the program does it itself."""

    address: str
    pid: int | None = None


Opened = Callable[[Path], AbstractContextManager[PeerServer]]


@contextmanager
def sqlite_file(folder: Path) -> Iterator[PeerServer]:
    """A SQLite file, which the program makes."""
    yield PeerServer(f"sqlite:///{folder.resolve()}/bench.db")


@contextmanager
def postgresql(folder: Path) -> Iterator[PeerServer]:
    """A PostgreSQL server; it chooses its folder itself, which its own user must reach."""
    with postgres.running(settings=POSTGRES_SETTINGS) as server:
        yield PeerServer(server.address(), server.pid)


@contextmanager
def broker(folder: Path) -> Iterator[PeerServer]:
    """A RabbitMQ server; it chooses its folder itself, which its own user must reach."""
    with rabbitmq.running() as server:
        yield PeerServer(server.address, server.pid)


@contextmanager
def restate(folder: Path) -> Iterator[PeerServer]:
    """A Restate server of one node, and the port at which the program serves its handlers."""
    ingress, admin, node, handlers = (free_port() for _ in range(4))
    programs = sorted(RESTATE.glob("restate-server-*/bin/restate-server"))
    if not programs:
        raise FileNotFoundError(f"Restate: expected its server in {RESTATE}, found none; is npm installed?")
    ports = {"RESTATE_INGRESS__BIND_PORT": ingress, "RESTATE_ADMIN__BIND_PORT": admin, "RESTATE_BIND_PORT": node}
    settings = {"RESTATE_DISABLE_TELEMETRY": "true", **{name: str(port) for name, port in ports.items()}}
    options = ["--base-dir", str(folder.resolve()), "--node-name", "bench", "--listen-mode", "tcp"]
    command = [str(programs[0].resolve()), *options, "--bind-ip", "127.0.0.1", "--no-logo"]
    with _process(command, folder, admin, settings) as pid:
        yield PeerServer(f"http://127.0.0.1:{ingress}/{admin}/{handlers}", pid)


@contextmanager
def _process(command: Sequence[str], folder: Path, port: int, settings: Mapping[str, str]) -> Iterator[int]:
    """A server that takes connections at that port, and is gone with the block."""
    silent = subprocess.DEVNULL
    process = subprocess.Popen(
        command, cwd=folder, env={**os.environ, **settings}, stdout=silent, stderr=silent, start_new_session=True
    )
    try:
        _await_port(process, port, command[0])
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _await_port(process: subprocess.Popen[bytes], port: int, program: str) -> None:
    end = time.perf_counter() + START_SECONDS
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if process.poll() is not None or time.perf_counter() > end:
            raise RuntimeError(f"{program}: expected it to listen at port {port}, found it did not")
        time.sleep(LOOK_SECONDS)
