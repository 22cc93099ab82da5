"""A RabbitMQ server in a folder of its own, from the programs of Debian's package."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

from servers.ports import free_port
from servers.postgres.programs import give, user

PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""Debian's own wrapper of it runs one server a host."""
CONTROL = PROGRAM.with_name("rabbitmqctl")
AMQP10 = "rabbitmq_amqp1_0"
"""The plugin for AMQP 1.0, on the same port."""
START_SECONDS = 120
NO_FILES: Mapping[str, str] = MappingProxyType({})
SALT = b"salt"
LOOK_SECONDS = 0.05
GREETING = b"AMQP\x00\x00\x09\x01"
METHOD_FRAME = b"\x01"
"""What its answer begins with; another program that has taken its port answers otherwise."""
SETTINGS = """
listeners.tcp.local = 127.0.0.1:{port}
log.console = false
log.file = false
vm_memory_high_watermark.absolute = 1GB
disk_free_limit.absolute = 50MB
"""
UNTRACED = "[]."
TRACED = '[{rabbit, [{trace_vhosts, [<<"/">>]}]}].'
"""Copies published messages to the exchange amq.rabbitmq.trace, from the first moment on."""


class RabbitServer:
    """One server; its verbs block until they are done. One that `is_traced` lets others look on."""

    name = "RabbitMQ"

    def __init__(
        self,
        folder: Path,
        port: int | None = None,
        *,
        is_traced: bool = False,
        settings: str = "",
        plugins: Sequence[str] = (),
    ) -> None:
        self.port = port or free_port()
        self._folder = folder
        self._more = settings
        self._plugins = plugins
        self._is_traced = is_traced
        self._mapper_port = free_port()
        self._nodes_port = free_port()
        self._mapper: subprocess.Popen[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """What a client connects to."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}/"

    @property
    def pid(self) -> int:
        """Of the process that all its others descend from."""
        assert self._process is not None, "runs"
        return self._process.pid

    def start(self) -> None:
        """Start it where it was, and wait until it takes connections."""
        (self._folder / "rabbitmq.conf").write_text(SETTINGS.format(port=self.port) + self._more)
        (self._folder / "advanced.config").write_text(TRACED if self._is_traced else UNTRACED)
        (self._folder / "plugins").write_text(f"[{','.join(self._plugins)}].")
        if self._mapper is None:
            # By default the server starts one that outlives it and is shared by all servers.
            self._mapper = self._launch(["epmd", "-port", str(self._mapper_port)])
        self._process = self._launch([str(PROGRAM)])
        self._await_ready(self._process)

    def stop(self) -> None:
        """End it as a crash would, and what it needs beside it."""
        self.kill()
        if self._mapper is not None:
            self._mapper.kill()
            self._mapper.wait(START_SECONDS)
            self._mapper = None

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            with suppress(ProcessLookupError):  # It may have ended by itself.
                self._signal(signal.SIGKILL)
            self._process.wait(START_SECONDS)
            self._process = None

    def await_written(self, queue: str) -> None:
        """Wait until its files name a queue: what it confirms before that, about a second long, outlives no crash."""
        end = time.perf_counter() + START_SECONDS
        while not self._has_written(queue):
            if time.perf_counter() > end:
                raise RuntimeError(f"RabbitMQ: expected queue {queue} in its files, found none such")
            time.sleep(LOOK_SECONDS)

    def pause(self) -> None:
        """Let it do nothing until ``resume``."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def wipe(self) -> None:
        """Crash it, lose everything that it kept, and start it again."""
        self.kill()
        shutil.rmtree(self._folder / "data", ignore_errors=True)
        self.start()

    def control(self, *arguments: str, typed: str = "") -> str:
        """What ``rabbitmqctl`` prints that is given these arguments, and ``typed`` where it asks for a password."""
        ran = subprocess.run(
            [str(CONTROL), *arguments],
            env=self._environment(),
            cwd=self._folder,
            user=user(),
            input=typed,
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )
        if ran.returncode:
            said = f"{ran.stdout}{ran.stderr}".strip()[-500:]
            raise RuntimeError(f"rabbitmqctl {arguments[0]}: expected success, found {ran.returncode}: {said}")
        return ran.stdout

    def _environment(self) -> dict[str, str]:
        home = str(self._folder)
        return {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "LANG": "C.UTF-8",
            "ERL_EPMD_PORT": str(self._mapper_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"stepward{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(self._nodes_port),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": f"{home}/rabbitmq.conf",
            "RABBITMQ_ADVANCED_CONFIG_FILE": f"{home}/advanced.config",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{home}/plugins",
            "RABBITMQ_MNESIA_BASE": f"{home}/data",
            "RABBITMQ_LOG_BASE": f"{home}/log",
            "RABBITMQ_PID_FILE": f"{home}/pid",
        }

    def _launch(self, command: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            env=self._environment(),
            cwd=self._folder,
            user=user(),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _await_ready(self, process: subprocess.Popen[bytes]) -> None:
        end = time.perf_counter() + START_SECONDS
        while not self._is_ready():
            if process.poll() is not None or time.perf_counter() > end:
                raise RuntimeError(f"RabbitMQ: expected it to start within {START_SECONDS} s, found it did not")
            time.sleep(LOOK_SECONDS)

    def _is_ready(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as client:
                client.sendall(GREETING)
                return client.recv(1) == METHOD_FRAME
        except OSError:
            return False

    def _has_written(self, queue: str) -> bool:
        names = (self._folder / "data").glob("*/quorum/*/names.dets")
        return any(queue.encode() in file.read_bytes() for file in names)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, "runs"
        os.killpg(self._process.pid, number)


def password_hash(password: str) -> str:
    """A password as a server's definitions have it."""
    return base64.b64encode(SALT + sha256(SALT + password.encode()).digest()).decode()


@contextmanager
def running(
    *,
    is_traced: bool = False,
    settings: str = "",
    files: Mapping[str, str] = NO_FILES,
    plugins: Sequence[str] = (),
) -> Iterator[RabbitServer]:
    """A new server, begun and gone with the block.

    ``settings`` are added to its own; ``{folder}`` in them is its folder, in which ``files`` are written first.
    """
    with home() as folder:
        for name, text in files.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o644)
        server = RabbitServer(
            folder, is_traced=is_traced, settings=settings.replace("{folder}", str(folder)), plugins=plugins
        )
        try:
            server.start()
            yield server
        finally:
            server.stop()


@contextmanager
def home() -> Iterator[Path]:
    """A folder that the server's user owns, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="stepward-rabbitmq-"))
    try:
        folder.chmod(0o755)
        give(folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
