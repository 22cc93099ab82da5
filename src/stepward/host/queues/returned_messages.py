"""Dead letters that an operator puts back and that are a broker's: the store is not where Agents look for requests."""

from __future__ import annotations

from stepward.errors import Refused
from stepward.model.messages.seal import Seal
from stepward.transport.contract import Transport
from stepward.transport.wire.wire import Wire, join


class ReturnedMessages:
    """Takes what is carried to the Agents' queues of the application ``app``, whose store has that ``seal``."""

    def __init__(self, transport: Transport, app: str, seal: Seal) -> None:
        self._transport = transport
        self._wire = Wire(app, seal)

    async def carry(self, queue: str, body: bytes, id: str) -> None:
        """Publish the request again, as a double if it comes twice. Raises TransportError, Refused for what is none."""
        messages, spoilt, rejected = self._wire.decode(join([body]))
        if spoilt:
            raise Refused(f"put back into {queue}: {spoilt[0].reason}")
        if rejected:
            raise Refused(f"put back into {queue}: {rejected[0].message}")
        await self._transport.publish(queue, messages)
