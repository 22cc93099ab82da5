"""Ports for servers that have to be told theirs."""

from __future__ import annotations

import errno
import random
import socket
from itertools import count
from pathlib import Path

FIRST = 20_000
GIVEN_BY_THE_SYSTEM = Path("/proc/sys/net/ipv4/ip_local_port_range")
TRIES = 100


def free_port() -> int:
    """A port of loopback on which nobody listened a moment ago.

    Not one that the system may give to a client meanwhile: a server that is away for a while would not get it back.
    """
    last = int(GIVEN_BY_THE_SYSTEM.read_text().split()[0]) - 1 if GIVEN_BY_THE_SYSTEM.exists() else 32_767
    for tried in count(1):
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", random.randint(FIRST, last)))
            except OSError as error:
                if error.errno != errno.EADDRINUSE or tried == TRIES:
                    raise
            else:
                port: int = listener.getsockname()[1]
                return port
    raise AssertionError("counts without an end")
