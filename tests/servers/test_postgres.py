"""A server of the tests that cannot start says why."""

from __future__ import annotations

import socket

import pytest

from servers.postgres.programs import newest, reachable
from servers.postgres.server import Server, cluster, home

pytestmark = pytest.mark.servers


def test_a_server_that_cannot_start_reports_the_reason_at_once() -> None:
    with home() as folder, socket.socket() as other:
        server = Server(reachable(newest(), folder), cluster(folder, "data"), {})
        server.initialize()
        other.bind(("127.0.0.1", server.port))
        other.listen()
        with pytest.raises(RuntimeError, match=r"found it ended; it said .* could not create any TCP/IP sockets"):
            server.start()
