"""Ports for servers that have to be told theirs."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import socket
import tempfile
from functools import cache
from pathlib import Path

FIRST = 20_000
GIVEN_BY_THE_SYSTEM = Path("/proc/sys/net/ipv4/ip_local_port_range")
TRIES = 1000

_given: set[int] = set()


def free_port() -> int:
    """A port of loopback on which nobody listens, and which no other process is given while this one lives.

    Not one that the system may give to a client meanwhile: a server that is away for a while would not get it back.
    """
    last = int(GIVEN_BY_THE_SYSTEM.read_text().split()[0]) - 1 if GIVEN_BY_THE_SYSTEM.exists() else 32_767
    for _ in range(TRIES):
        port = random.randint(FIRST, last)
        if port not in _given and _is_kept(port) and _is_free(port):
            _given.add(port)
            return port
    raise RuntimeError(f"ports: expected a free one between {FIRST} and {last}, found none; end what listens there")


def _is_kept(port: int) -> bool:
    """Keep the port for this process: its byte of a file stays locked until the process ends, however it does."""
    try:
        fcntl.lockf(_register(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except (BlockingIOError, PermissionError):
        return False
    return True


@cache
def _register() -> int:
    # Opened once: closing it anywhere in the process would let go of every lock.
    return os.open(Path(tempfile.gettempdir()) / f"stepward-ports-{os.getuid()}", os.O_RDWR | os.O_CREAT, 0o600)


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        try:
            listener.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return False
    return True
