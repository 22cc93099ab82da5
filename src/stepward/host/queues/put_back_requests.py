"""Requests that operators put back from the dead letters, sent to the broker: Agents do not read the store's queues."""

from __future__ import annotations

from stepward.errors import Refused
from stepward.model.messages.signing import Signer
from stepward.transport.contract import Transport
from stepward.transport.wire.encoding import Wire, join


class ReturnedMessages:
    """Carries messages to the Agents' queues of the application ``app``, whose store has that ``signer``."""

    def __init__(self, transport: Transport, app: str, signer: Signer) -> None:
        self._transport = transport
        self._wire = Wire(app, signer)

    async def carry(self, queue: str, body: bytes, id: str) -> None:
        """Publish the request again, marked as possibly delivered before. Raises TransportError, or Refused for
        anything else."""
        messages, spoilt, rejected = self._wire.decode(join([body]))
        if spoilt:
            raise Refused(f"put back into {queue}: {spoilt[0].reason}")
        if rejected:
            raise Refused(f"put back into {queue}: {rejected[0].message}")
        await self._transport.publish(queue, messages)
