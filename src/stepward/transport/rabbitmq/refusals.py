"""Refusals of a RabbitMQ server, as opposed to temporary failures."""

from __future__ import annotations

from aio_pika.exceptions import ChannelNotFoundEntity, ChannelPreconditionFailed, DeliveryError, PublishError
from aiormq.exceptions import ChannelAccessRefused, ChannelLockedResource

REFUSING = (ChannelAccessRefused, ChannelNotFoundEntity, ChannelPreconditionFailed, ChannelLockedResource)
FULL = "it takes no more (NACK): it is full, or its cluster has no leader for it"


def refusal(error: BaseException | None) -> str | None:
    """The server's reason; None for an error that is no refusal."""
    if isinstance(error, PublishError):
        return "no queue of that name, or nothing bound to the exchange"
    if isinstance(error, DeliveryError):
        return FULL
    return " ".join(str(error).split()) if isinstance(error, REFUSING) else None
