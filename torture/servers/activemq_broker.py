"""ActiveMQ as a broker under torture, whose two logins both have every right."""

from __future__ import annotations

import asyncio

from servers.activemq import ActiveMqServer
from stepward.transport.broker.queue_names import BrokerNames
from torture.servers.connection_relay import ConnectionRelay
from torture.servers.logins import ALL, APPLICATION, NARROW, PASSWORDS, with_login

LOOKED_AT = ("agents.service", f"agents.{NARROW}", "submissions.orders")
ANSWER_SECONDS = 10
EMPTY_SECONDS = 0.5
"""How long a look waits for the first message of a queue."""


class TorturedActiveMq:
    """ActiveMQ by AMQP 1.0; one look shows whether a queue has messages, not how many."""

    kind = "amqp10"
    forbids_queues = False

    def __init__(self, server: ActiveMqServer) -> None:
        self.server = server
        self.relay = ConnectionRelay(server.port)
        self.hurt = self

    def address(self, user: str = ALL, prefix: str = "") -> str:
        port = self.server.port if user == NARROW else self.relay.port
        return with_login(f"amqp10://127.0.0.1:{port}", user, prefix)

    async def left(self, prefix: str = "") -> dict[str, int]:
        root = BrokerNames(APPLICATION, prefix).root
        queues = [f"{root}.{queue}" for queue in LOOKED_AT]
        return await asyncio.to_thread(_waiting, self.server.port, queues)


def _waiting(port: int, queues: list[str]) -> dict[str, int]:
    """1 for each queue that has a message; none is taken."""
    from proton import Timeout  # noqa: PLC0415  an extra's client
    from proton.reactor import Copy  # noqa: PLC0415
    from proton.utils import BlockingConnection  # noqa: PLC0415

    found: dict[str, int] = {}
    line = BlockingConnection(
        f"amqp://127.0.0.1:{port}",
        timeout=ANSWER_SECONDS,
        user=ALL,
        password=PASSWORDS[ALL],
        allowed_mechs="PLAIN",
        allow_insecure_mechs=True,
    )
    try:
        for queue in queues:
            receiver = line.create_receiver(queue, credit=1, options=Copy())
            try:
                receiver.receive(timeout=EMPTY_SECONDS)
                found[queue] = 1
            except Timeout:
                pass
            finally:
                receiver.close()
    finally:
        line.close()
    return found
