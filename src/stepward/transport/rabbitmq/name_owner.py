"""The store that owns an application's name at RabbitMQ, recorded in an exchange that carries no messages.

The server accepts the declaration of an existing exchange only with the same alternate exchange; that one is named
after the store, so the first store wins. A login without the right to declare it checks for the alternate exchange, for
which it needs no rights.
"""

from __future__ import annotations

import re

from aio_pika import ExchangeType
from aio_pika.exceptions import ChannelPreconditionFailed
from aiormq.exceptions import ChannelAccessRefused

from stepward.errors import TransportError
from stepward.transport.broker.name_owner import check_claim
from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.rabbitmq.channels import exchange_is_there, own_channel
from stepward.transport.rabbitmq.connection import RabbitConnection

ANSWER_SECONDS = 5.0
ANOTHER = "unknown to this login"
CURRENT = re.compile(r"current is '([^']*)'")


async def claim(link: RabbitConnection, names: BrokerNames, store: str) -> None:
    """Claim the name for a store. Raises SettingsError if another store has it, or TransportError."""
    name = f"{names.root}.store"
    owner = await _declared(link, name, store)
    if owner is None:
        owner = store if await _is_there(link, f"{name}.{store}") else ANOTHER
        if owner is ANOTHER and not await _is_there(link, name):
            raise TransportError(
                f"exchange {name}: expected that a store has claimed the application's name at RabbitMQ, found none, "
                "and no right to claim it; start a Scheduler first"
            )
    check_claim(f"RabbitMQ at {link.shown}", names, store, owner, f"exchange {name}")


async def _declared(link: RabbitConnection, name: str, store: str) -> str | None:
    """The store that has the name; None if this login may not read it."""
    line = await link.line()
    with link.reaching(f"exchange {name}"):
        try:
            async with own_channel(line.connection) as channel:
                await channel.declare_exchange(
                    name,
                    ExchangeType.FANOUT,
                    durable=True,
                    arguments={"alternate-exchange": f"{name}.{store}"},
                    timeout=ANSWER_SECONDS,
                )
                await channel.declare_exchange(
                    f"{name}.{store}", ExchangeType.FANOUT, durable=True, timeout=ANSWER_SECONDS
                )
        except ChannelPreconditionFailed as error:
            current = CURRENT.search(str(error))
            return current[1].removeprefix(f"{name}.") if current is not None else ""
        except ChannelAccessRefused:
            return None
    return store


async def _is_there(link: RabbitConnection, name: str) -> bool:
    line = await link.line()
    with link.reaching(f"exchange {name}"):
        return await exchange_is_there(line.connection, name)
