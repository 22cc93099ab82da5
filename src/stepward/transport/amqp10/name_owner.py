"""The store that owns an application's name at a broker, recorded in a message that is taken and returned.

The oldest message of that queue counts, so the first store wins.
"""

from __future__ import annotations

import asyncio

from stepward.transport.amqp10.connection import Amqp10Connection
from stepward.transport.amqp10.protocol.connection import AmqpConnection
from stepward.transport.amqp10.protocol.links import Received
from stepward.transport.amqp10.protocol.messages import Sent
from stepward.transport.broker.name_owner import check_claim
from stepward.transport.broker.queue_names import BrokerNames

QUIET_SECONDS = 0.3
"""Seconds for which another process may hold the message while it reads it."""
MARKER = "text/plain"


async def claim(link: Amqp10Connection, line: AmqpConnection, names: BrokerNames, store: str, ident: str) -> bool:
    """Claim the name for a store, and say whether it was claimed before.

    Raises SettingsError if another store has it, or AmqpFault.
    """
    place = link.places.owner(names)
    came: asyncio.Future[Received] = asyncio.get_running_loop().create_future()

    def on_message(received: Received) -> None:
        if not came.done():
            came.set_result(received)

    receiver = await link.receiver(line, place, on_message)
    receiver.allow(1)
    try:
        async with asyncio.timeout(QUIET_SECONDS):
            owner = (await came).message.body.decode(errors="replace")
    except TimeoutError:
        receiver.close()
        sender = await line.sender(place.address)
        await sender.put(Sent(store.encode(), ident, MARKER))
        sender.close()
        return False
    came.result().release()
    receiver.close()
    check_claim(f"{link.places.name} at {link.shown}", names, store, owner, f"queue {names.root}.store")
    return True
