"""Ports for servers that have to be told theirs."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port of loopback on which nobody listened a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
