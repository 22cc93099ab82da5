"""The store that owns an application's name at NATS, recorded in the metadata of an empty stream."""

from __future__ import annotations

from nats.js import JetStreamContext
from nats.js.api import StorageType, StreamConfig, StreamInfo
from nats.js.errors import BadRequestError, NotFoundError

from stepward.transport.broker.name_owner import check_claim
from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.nats.connection import NatsConnection

ANSWER_SECONDS = 2.0
STORE = "stepward-store"
TAKEN = 10058
"""The server's error code for a stream that exists with other settings."""


async def claim(link: NatsConnection, names: BrokerNames, store: str) -> None:
    """Claim the name for a store. Raises SettingsError if another store has it, or TransportError."""
    name = f"{names.stream}+store"
    context = (await link.client()).jetstream(timeout=ANSWER_SECONDS)
    with link.reaching(f"stream {name}", name):
        found = await _found(context, name)
        if found is None:
            found = await _made(context, _config(link, names, name, store))
    owner = (found.config.metadata or {}).get(STORE, "") if found is not None else ""
    check_claim(f"NATS at {link.address.shown}", names, store, owner, f"stream {name}")


async def _found(context: JetStreamContext, name: str) -> StreamInfo | None:
    try:
        return await context.stream_info(name)
    except NotFoundError:
        return None


async def _made(context: JetStreamContext, config: StreamConfig) -> StreamInfo | None:
    try:
        return await context.add_stream(config)
    except BadRequestError as error:
        if error.err_code != TAKEN:
            raise
    # Another process was faster.
    return await _found(context, config.name or "")


def _config(link: NatsConnection, names: BrokerNames, name: str, store: str) -> StreamConfig:
    return StreamConfig(
        name=name,
        description="Which store of Stepward has this name.",
        subjects=[f"{names.root}.store"],
        storage=StorageType.FILE,
        max_msgs=1,
        num_replicas=link.address.replicas,
        metadata={STORE: store},
    )
