"""What the shop says of the servers that it stands on."""

from __future__ import annotations

import pytest

from examples.shop.sign import word_of
from servers.keeper.broker_state import BrokerServer, BrokerStanding
from servers.keeper.pair_state import ClusterMember, Standing

FIRST, SECOND, RABBIT = BrokerServer("node1", 1, 11), BrokerServer("node2", 2, 12), BrokerServer("RabbitMQ", 3, 13)


@pytest.mark.parametrize(
    ("standing", "said"),
    [
        (
            BrokerStanding("NATS", (FIRST, SECOND), 2),
            "NATS: node1 at 127.0.0.1:1 (pid 11), node2 at 127.0.0.1:2 (pid 12)",
        ),
        (BrokerStanding("NATS", (FIRST,), 2), "NATS: node1 at 127.0.0.1:1 (pid 11); 1 of 2 is started again ..."),
        (BrokerStanding("RabbitMQ", (RABBIT,), 1), "RabbitMQ at 127.0.0.1:3 (pid 13)"),
        (BrokerStanding("RabbitMQ", (), 1), "RabbitMQ ended, and is started again ..."),
        (
            Standing(ClusterMember(1, 11)),
            "PostgreSQL: 127.0.0.1:1 (pid 11) is the primary, and alone; it is given a standby ...",
        ),
    ],
)
def test_the_sign_shows_running_and_missing_processes(standing: Standing | BrokerStanding, said: str) -> None:
    assert word_of(standing) == said
