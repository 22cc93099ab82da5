"""The store that owns an application's name in a namespace, as the state of a session that is locked for it."""

from __future__ import annotations

import asyncio

from stepward.transport.amqp10.node_addresses import Place
from stepward.transport.amqp10.protocol.connection import AmqpConnection
from stepward.transport.amqp10.protocol.faults import AmqpRefused
from stepward.transport.amqp10.protocol.management import ManagementNode
from stepward.transport.broker.name_owner import check_claim
from stepward.transport.broker.queue_names import BrokerNames

LOCKED = "com.microsoft:session-cannot-be-locked"
SESSION_FILTER = "com.microsoft:session-filter"
TRIES = 20
PAUSE_SECONDS = 0.1


async def claim_session(line: AmqpConnection, place: Place, names: BrokerNames, store: str, where: str) -> bool:
    """Claim the name for a store, and say whether it was claimed before.

    Raises SettingsError if another store has it, or AmqpFault.
    """
    for left in reversed(range(TRIES)):
        try:
            link = await line.receiver(place.address, lambda _: None, filters={SESSION_FILTER: place.group})
            break
        except AmqpRefused as refused:
            if refused.condition != LOCKED or not left:
                raise
            await asyncio.sleep(PAUSE_SECONDS)
    node = ManagementNode(line, f"{place.address}/$management")
    answer = await node.call("com.microsoft:get-session-state", {"session-id": place.group})
    found = (answer.value or {}).get("session-state")
    if not found:
        state = {"session-id": place.group, "session-state": store.encode()}
        await node.call("com.microsoft:set-session-state", state)
    link.close()
    owner = bytes(found).decode(errors="replace") if found else store
    check_claim(where, names, store, owner, f"state of the session {place.group} of queue {place.address}")
    return bool(found)
