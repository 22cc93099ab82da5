"""Acknowledgements that a NATS server refuses: a login without the right to them would get each message again."""

from __future__ import annotations

from stepward.transport.nats.connection import NatsConnection

REFUSED_SECONDS = 15.0
"""Seconds for which a permission error counts: it arrives apart from its request."""


def check_acknowledgements(link: NatsConnection, queue: str, consumer: str) -> None:
    """Raise QueueRefused if the server has just refused an acknowledgement.

    ``consumer`` is ``STREAM.CONSUMER``. The refusal is reported, and raises an alert, as that of the queue.
    """
    link.raise_denied(f"queue {queue}", REFUSED_SECONDS, f"$JS.ACK.{consumer}.")
