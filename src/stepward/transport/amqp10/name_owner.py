"""The store that owns an application's name at a broker, recorded in a message that is taken and returned.

The oldest message of that queue counts, so the first store wins.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import NamedTuple

from stepward.transport.amqp10.connection import Amqp10Connection
from stepward.transport.amqp10.node_addresses import Place
from stepward.transport.amqp10.protocol.connection import AmqpConnection
from stepward.transport.amqp10.protocol.faults import AmqpFault
from stepward.transport.amqp10.protocol.links import Received
from stepward.transport.amqp10.protocol.messages import Arrived, Sent
from stepward.transport.broker.name_owner import check_claim
from stepward.transport.broker.queue_names import BrokerNames

QUIET_SECONDS = 0.3
"""Seconds without a message after which the name is held to be free, until the store's own message shows otherwise."""
ANSWER_SECONDS = 5.0
MOST_READ = 10
MARKER = "text/plain"


class NameClaim(NamedTuple):
    """The message that claims the name for a store."""

    store: str
    ident: str


async def claim(link: Amqp10Connection, line: AmqpConnection, names: BrokerNames, store: str, ident: str) -> bool:
    """Claim the name for a store, and say whether it was claimed before.

    Raises SettingsError if another store has it, or AmqpFault.
    """
    place = link.places.owner(names)
    oldest = await _oldest(link, line, place)
    if oldest is None:
        sender = await line.sender(place.address)
        await sender.put(Sent(store.encode(), ident, MARKER))
        sender.close()
        # A broker that is slow has given no message though it has one, and another store may have put its own by now.
        oldest = await _oldest(link, line, place, NameClaim(store, ident))
    if oldest is None:
        raise AmqpFault(f"queue {place.address}: expected the message that claims the application's name, found none")
    owner = oldest.body.decode(errors="replace")
    check_claim(f"{link.places.name} at {link.shown}", names, store, owner, f"queue {names.root}.store")
    return oldest.ident != ident


async def _oldest(
    link: Amqp10Connection, line: AmqpConnection, place: Place, own: NameClaim | None = None
) -> Arrived | None:
    """The oldest message, which returns to the queue; of the message ``own`` it is known that it is there.

    That one is removed if it is not the oldest. Another of the same store is as good: processes that begin together
    would hold each other's message while each waits for its own.
    """
    found: list[Received] = []
    enough = asyncio.Event()

    def on_message(received: Received) -> None:
        found.append(received)
        if own is None or received.message.ident == own.ident or received.message.body == own.store.encode():
            enough.set()

    receiver = await link.receiver(line, place, on_message)
    receiver.allow(1 if own is None else MOST_READ)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(QUIET_SECONDS if own is None else ANSWER_SECONDS):
            await enough.wait()
    for received in found:
        if received is not found[0] and own is not None and received.message.ident == own.ident:
            received.accept()
        else:
            received.release()
    receiver.close()
    return found[0].message if found else None
