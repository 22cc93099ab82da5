"""What keeps a connection to a broker: clients may say anything while one is made, and it goes on."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from stepward.errors import TransportError
from stepward.events import Observers
from stepward.transport.broker.reconnecting import Reconnecting
from tests.transport.brokers import Heard


class Connection:
    """One that a client has made."""

    def __init__(self) -> None:
        self.is_closed = False


class Client:
    """Makes connections; each of ``acts`` happens at one attempt, before it would give one."""

    def __init__(self, *acts: Callable[[], Awaitable[None]]) -> None:
        self.acts = list(acts)
        self.told = Heard()
        self.made = Connection()
        """The last one."""
        self.lasting: Reconnecting[Connection] = Reconnecting(
            self._connect,
            broker="NATS",
            shown="one:4222",
            faults=(OSError,),
            is_closed=lambda connection: connection.is_closed,
            random=random.Random(1),
            observers=Observers(self.told.append),
        )

    async def _connect(self) -> Connection:
        self.made = Connection()
        if self.acts:
            await self.acts.pop(0)()
        return self.made

    async def lose(self) -> None:
        """The connection that there is ends."""
        await self.lasting.lost(await self.lasting.connection(), OSError("gone"))


def raising(error: Exception) -> Callable[[], Awaitable[None]]:
    async def act() -> None:
        raise error

    return act


async def nothing() -> None:
    return


@pytest.mark.parametrize("error", [Exception(), RuntimeError("Connection closed"), OSError("reset")])
async def test_client_errors_of_a_lost_connection_become_one_error(error: Exception) -> None:
    with (
        pytest.raises(TransportError, match="queue q: expected NATS at one:4222 to do its part, found: "),
        Client().lasting.reaching("queue q"),
    ):
        raise error


@pytest.mark.parametrize("error", [KeyError("a bug"), NotImplementedError()])
async def test_a_bug_is_no_answer_of_the_broker(error: Exception) -> None:
    with pytest.raises(type(error)), Client().lasting.reaching("queue q"):
        raise error


@pytest.mark.parametrize("error", [Exception(), RuntimeError("Connection closed")])
async def test_a_connection_that_ends_bare_while_it_is_made_was_not_made(error: Exception) -> None:
    with pytest.raises(TransportError, match="expected NATS at one:4222 to answer, found: "):
        await Client(raising(error)).lasting.open()


@pytest.mark.parametrize("error", [Exception(), KeyError("a bug")])
async def test_nothing_ends_the_keeper(error: Exception) -> None:
    client = Client(nothing, raising(error), raising(error))
    await client.lasting.open()
    await client.lose()
    await client.told.of("transport.connected")
    assert await client.lasting.connection()
    broke = [event.fields["error"] for event in client.told if event.name == "transport.broke"]
    assert broke == ([repr(error)] if isinstance(error, KeyError) else [])
    await client.lasting.close()


async def test_each_different_bug_is_reported() -> None:
    bugs = [KeyError("one"), KeyError("one"), ZeroDivisionError("two")]
    client = Client(nothing, *[raising(bug) for bug in bugs])
    await client.lasting.open()
    await client.lose()
    await client.told.of("transport.connected")
    assert [event.name for event in client.told] == [
        "transport.lost",
        "transport.broke",
        "transport.broke",
        "transport.connected",
    ]
    await client.lasting.close()


async def test_a_connection_that_ends_while_it_is_made_was_not_made() -> None:
    client = Client()

    async def end() -> None:
        client.made.is_closed = True
        await client.lasting.lost(client.made, OSError("gone"))

    client.acts = [end, nothing, end, end]
    with pytest.raises(TransportError, match="expected NATS at one:4222 to answer, found: no answer"):
        await client.lasting.open()
    await client.lasting.open()
    await client.lose()
    await client.told.of("transport.connected")
    assert not (await client.lasting.connection()).is_closed
    await client.lasting.close()


async def test_a_connection_that_ended_silently_is_made_again() -> None:
    """A client that fails while it closes tells of no end."""
    client = Client()
    await client.lasting.open()
    ended = client.made
    ended.is_closed = True
    assert await client.lasting.connection() is not ended
    await client.told.of("transport.connected")
    assert [event.fields.get("error") for event in client.told] == ["no answer", None]
    await client.lasting.close()


async def test_the_reason_of_a_lost_connection_may_arrive_later() -> None:
    client = Client()
    await client.lasting.open()
    ended = client.made
    ended.is_closed = True
    verbs = [asyncio.create_task(client.lasting.connection()) for _ in range(3)]
    await asyncio.sleep(0.5)
    await client.lasting.lost(ended, OSError("gone"))
    assert ended not in await asyncio.gather(*verbs)
    assert [event.fields["error"] for event in client.told if event.name == "transport.lost"] == ["gone"]
    await client.lasting.close()


@pytest.mark.parametrize("end", [nothing, raising(OSError("refused"))])
async def test_close_does_not_wait_for_a_task_that_swallowed_its_cancellation(
    end: Callable[[], Awaitable[None]],
) -> None:
    connecting = asyncio.Event()

    async def swallow() -> None:
        connecting.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await end()

    client = Client(nothing, swallow)
    await client.lasting.open()
    await client.lose()
    await connecting.wait()
    async with asyncio.timeout(60):
        left = await client.lasting.close()
    assert left is (client.made if end is nothing else None)


async def test_connections_that_end_as_soon_as_they_are_made_are_made_ever_more_rarely() -> None:
    client = Client()
    await client.lasting.open()
    clock = asyncio.get_running_loop().time
    began, made = clock(), 0
    while clock() - began < 60:
        await client.lasting.lost(client.made, OSError("gone"))
        ended = client.made
        while client.lasting.now is None:  # noqa: ASYNC110  it has no event for this
            await asyncio.sleep(0.01)
        assert client.made is not ended
        made += 1
    assert 12 < made < 40
    await asyncio.sleep(10)
    await client.lose()
    began = clock()
    await client.lasting.connection()
    assert clock() - began < 0.01
    await client.lasting.close()
