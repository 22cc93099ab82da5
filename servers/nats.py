"""NATS servers with JetStream, alone or three as a cluster, each in a folder of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError

from servers.ports import free_port
from servers.suspension import suspend

PROGRAM = Path(os.environ.get("NATS_SERVER", Path(sys.executable).parent / "nats-server"))
"""The newest, unless the variable names another version's."""
START_SECONDS = 60
LOOK_SECONDS = 0.01
ASK_SECONDS = 2
NODES = 3
SETTINGS = """
host: 127.0.0.1
port: {port}
http: 127.0.0.1:{look_port}
server_name: {name}
max_payload: {payload}
jetstream {{ store_dir: "{folder}", max_file_store: {room}, max_memory_store: 64MB }}
"""
CLUSTER = """
cluster {{ name: stepward, listen: 127.0.0.1:{route_port}, routes: [{routes}] }}
"""
PAYLOAD = 1024 * 1024
"""Most bytes of a message at a server with default settings."""


class NatsNode:
    """One server; its verbs block until they are done."""

    def __init__(
        self, folder: Path, name: str, payload: int = PAYLOAD, port: int | None = None, *, room: str = "64GB"
    ) -> None:
        self.port = port or free_port()
        self.route_port = free_port()
        self.name = name
        self._folder = folder / name
        self._settings = folder / f"{name}.conf"
        self._payload = payload
        self._room = room
        self._look_port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """What a client connects to."""
        return f"nats://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Of its process."""
        assert self._process is not None, "runs"
        return self._process.pid

    def begin(self, others: Sequence[NatsNode] = (), *, users: str = "") -> None:
        """Start it with new settings; it may not be ready yet. ``users`` is what they say of logins."""
        routes = ", ".join(f"nats://127.0.0.1:{node.route_port}" for node in others)
        text = SETTINGS.format(
            port=self.port,
            look_port=self._look_port,
            name=self.name,
            folder=self._folder,
            payload=self._payload,
            room=self._room,
        )
        if others:
            text += CLUSTER.format(route_port=self.route_port, routes=routes)
        self._settings.write_text(text + users)
        self._launch()

    def start(self) -> None:
        """Start it again where it was, and wait until it does its part."""
        self._launch()
        self.await_ready()

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(START_SECONDS)
            self._process = None

    def pause(self) -> None:
        """Let it do nothing until ``resume``."""
        assert self._process is not None, "runs"
        suspend(self._process.pid)

    def resume(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def wipe(self) -> None:
        """Crash it, lose everything that it kept, and start it again."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)
        self.start()

    def await_ready(self) -> None:
        """Wait until it does its part."""
        end = time.perf_counter() + START_SECONDS
        while self._ask("healthz") is None:
            if self._has_ended() or time.perf_counter() > end:
                raise RuntimeError(f"NATS: expected {self.name} to start within {START_SECONDS} s, found it did not")
            time.sleep(LOOK_SECONDS)

    def _has_ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def _launch(self) -> None:
        self._process = subprocess.Popen(
            [str(PROGRAM), "-c", str(self._settings)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def followers(self) -> int:
        """How many others it leads that have all it has; 0 unless it leads."""
        meta = (self._ask("jsz") or {}).get("meta_cluster", {})
        return sum(bool(other.get("current")) for other in meta.get("replicas") or ())

    def _ask(self, what: str) -> dict[str, Any] | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._look_port}/{what}", timeout=ASK_SECONDS) as answer:
                said: dict[str, Any] = json.load(answer)
                return said
        except (URLError, OSError):
            return None

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, "runs"
        self._process.send_signal(number)


class NatsCluster:
    """Three servers, of which one may be lost."""

    def __init__(self, nodes: Sequence[NatsNode]) -> None:
        self.nodes = nodes

    @property
    def address(self) -> str:
        """What a client connects to, with each message kept by all three."""
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"nats://{hosts}?replicas={len(self.nodes)}"

    def start(self) -> None:
        """Start all, and wait until they have found one another."""
        for node in self.nodes:
            node.begin([other for other in self.nodes if other is not node])
        for node in self.nodes:
            node.await_ready()
        self.await_whole()

    def await_whole(self) -> None:
        """Wait until one of them leads, and sees the others."""
        end = time.perf_counter() + START_SECONDS
        while max(node.followers() for node in self.nodes) < len(self.nodes) - 1:
            if time.perf_counter() > end:
                raise RuntimeError(f"NATS: expected a whole cluster within {START_SECONDS} s, found none")
            time.sleep(LOOK_SECONDS)


@contextmanager
def running(payload: int = PAYLOAD, *, users: str = "", room: str = "64GB") -> Iterator[NatsNode]:
    """A new server, begun and gone with the block; it keeps up to ``room`` on disk."""
    with home() as folder:
        node = NatsNode(folder, "alone", payload, room=room)
        try:
            node.begin(users=users)
            node.await_ready()
            yield node
        finally:
            node.kill()


@contextmanager
def clustered() -> Iterator[NatsCluster]:
    """A new cluster, begun and gone with the block."""
    with home() as folder:
        cluster = NatsCluster([NatsNode(folder, f"node{number}") for number in range(1, NODES + 1)])
        try:
            cluster.start()
            yield cluster
        finally:
            for node in cluster.nodes:
                node.kill()


@contextmanager
def home() -> Iterator[Path]:
    """A folder for servers, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="stepward-nats-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
