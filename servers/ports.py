"""Ports for servers that are given theirs."""

from __future__ import annotations

import atexit
import contextlib
import errno
import random
import socket
from pathlib import Path

FIRST = 20_000
GIVEN_BY_THE_SYSTEM = Path("/proc/sys/net/ipv4/ip_local_port_range")
TRIES = 1000

_kept = contextlib.ExitStack()
atexit.register(_kept.close)


def free_port() -> int:
    """A free port of loopback, which no other process is given while this one lives.

    It is outside the range from which the system serves clients: a server that is stopped for a while would not get it
    back.
    """
    last = int(GIVEN_BY_THE_SYSTEM.read_text().split()[0]) - 1 if GIVEN_BY_THE_SYSTEM.exists() else 32_767
    for _ in range(TRIES):
        port = random.randint(FIRST, last)
        # Nothing here uses UDP: a reserved UDP port reserves the TCP port of that number for a server.
        if (keeper := _bound(port, socket.SOCK_DGRAM)) is None:
            continue
        if (listener := _bound(port, socket.SOCK_STREAM)) is not None:
            listener.close()
            _kept.enter_context(keeper)
            return port
        keeper.close()
    raise RuntimeError(f"ports: expected a free one between {FIRST} and {last}, found none; end what listens there")


def _bound(port: int, kind: socket.SocketKind) -> socket.socket | None:
    """A socket with that port; None if another has it."""
    bound = socket.socket(type=kind)
    try:
        bound.bind(("127.0.0.1", port))
    except OSError as error:
        bound.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return None
    return bound
