"""Clients of brokers cancel those who wait for a connection that they give up: that is an error, and no end."""

from __future__ import annotations

import asyncio
import random
from typing import NoReturn

import pytest

from stepward.errors import TransportError
from stepward.events import Observers
from stepward.runtime.cancelling import heed_cancellation
from stepward.transport.broker.reconnecting import Reconnecting


def lasting(connect: object = None) -> Reconnecting[object]:
    async def connected() -> object:
        return await gives_up() if connect is None else object()

    return Reconnecting(
        connected,
        broker="NATS",
        shown="one:4222",
        faults=(OSError,),
        is_closed=lambda _: False,
        random=random.Random(1),
        observers=Observers(),
    )


async def gives_up() -> NoReturn:
    """As a client does with the callers that wait for its answer."""
    waited: asyncio.Future[NoReturn] = asyncio.get_running_loop().create_future()
    waited.cancel()
    await waited
    raise AssertionError("was not cancelled")


async def test_a_cancellation_without_a_request_is_an_error() -> None:
    with (
        pytest.raises(TransportError, match="queue q: expected NATS at one:4222 to do its part, found: no answer"),
        lasting().reaching("queue q"),
    ):
        await gives_up()


async def test_a_connection_that_is_given_up_while_it_is_made_was_not_made() -> None:
    with pytest.raises(TransportError, match="expected NATS at one:4222 to answer, found: no answer"):
        await lasting().open()


async def test_a_cancellation_that_was_asked_for_ends_what_waits() -> None:
    async def wait() -> None:
        with lasting().reaching("queue q"):
            await asyncio.Event().wait()

    waiting = asyncio.create_task(wait())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_cancellation_that_a_client_swallowed_is_heeded() -> None:
    async def swallow() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heed_cancellation()

    heed_cancellation()
    waiting = asyncio.create_task(swallow())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
