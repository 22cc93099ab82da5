"""What a process does with what it has no room for while its broker is away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stepward.errors import TransportError
from stepward.events import Event, Observers
from stepward.transport.broker.consuming.consumer import Consumer
from stepward.transport.broker.consuming.giving_back import PATIENCE, REST_SECONDS
from stepward.transport.broker.dead_letters import BrokerDeadLetter
from stepward.transport.broker.rejections import Rejections
from stepward.transport.contract import AgentMessage
from stepward.transport.wire.encoding import Wire, join
from tests.transport.messages import SIGNER, request
from tests.virtual import VirtualLoop

LEASE = 5.5


def pytest_asyncio_loop_factories(config: Any, item: Any) -> Mapping[str, Callable[[], VirtualLoop]]:
    return {"virtual": VirtualLoop}


class Away:
    """A source that is not reached; nothing comes of itself."""

    async def ask(self, limit: int, lease: float) -> float:
        return LEASE

    async def acknowledge(self, handles: Sequence[str]) -> None: ...

    async def extend(self, handles: Sequence[str], lease: float) -> None: ...

    async def rest(self) -> None: ...

    async def refuse(self, handles: Sequence[str]) -> None: ...

    async def leave(self) -> None: ...


async def put(queue: str, messages: Sequence[AgentMessage], is_returned: bool) -> None:
    raise TransportError("expected a broker, found none")


async def bury(queue: str, letters: Sequence[BrokerDeadLetter]) -> None:
    raise AssertionError("nothing is foreign")


async def test_a_failed_return_is_retried_every_second_until_the_lease_ends() -> None:
    now, wire, told = asyncio.get_running_loop().time, Wire("shop", SIGNER), list[tuple[float, Event]]()
    intake: Consumer[str] = Consumer(
        "agents.payments",
        lambda _: Away(),
        wire=wire,
        now=now,
        observers=Observers(lambda event: told.append((now(), event))),
        put=put,
        bury=bury,
        rejections=Rejections(Observers(), now),
    )
    began = now()
    body = join([wire.encode(request(task), began) for task in "ab"])
    intake.arrived("1", "handle", body, began + LEASE, again=False)
    await intake.take(1, LEASE)
    await asyncio.sleep(10 * LEASE)
    await intake.close()
    assert {event.name for _, event in told} == {"transport.failed"}
    assert [round(at - began, 2) for at, _ in told] == [PATIENCE + REST_SECONDS * tries for tries in range(6)]
