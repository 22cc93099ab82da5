"""Heartbeats keep the lease on a request and tell how far its code is; nothing of them reaches past the complete-by."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from stepward.agent.declaration import Agent
from stepward.errors import InvalidPayload, PayloadTooLarge, TransportError
from stepward.model.current_step import PROGRESS_BYTES, current_step
from stepward.model.messages.requests import Outcome, Progress, Reply
from stepward.policies import Retry
from stepward.transport.contract import Delivery
from stepward.transport.memory.memory_transport import MemoryTransport
from tests.agent.conftest import Start
from tests.agent.world import REPLIES, World
from tests.virtual import START


async def heard(world: World, count: int) -> list[Reply | Progress]:
    """The next messages on the reply queue."""
    found: list[Any] = []
    while len(found) < count:
        taken = await world.transport.take(REPLIES, count - len(found), 60)
        await world.transport.settle(REPLIES, taken)
        found += [delivery.message for delivery in taken]
    return found


async def test_a_heartbeat_extends_the_lease_and_is_published(start: Start) -> None:
    extended: list[float] = []

    class Watching(MemoryTransport):
        async def extend(self, queue: str, deliveries: Any, lease: float) -> Sequence[Delivery]:
            extended.append(asyncio.get_running_loop().time() - START)
            return await super().extend(queue, deliveries, lease)

    agent = Agent("payments")

    @agent.operation()
    async def charge() -> None:
        await asyncio.sleep(0.5)
        current_step().heartbeat({"pages": 3})
        await asyncio.sleep(100)

    world = start(agent, transport=Watching(asyncio.get_running_loop().time))
    request = await world.ask("payments.charge", complete_by=START + 2)
    (told,) = await heard(world, 1)
    assert isinstance(told, Progress)
    assert (told.task, told.run, told.key, told.attempt) == (request.task, 1, request.key, 1)
    assert told.progress == b'{"pages":3}'
    assert told.at == pytest.approx(START + 0.5, abs=0.01)
    # The complete-by stands: nothing more is said.
    assert await world.is_silent(30)
    assert extended == [pytest.approx(0.5, abs=0.01)]
    (event,) = world.told("agent.heartbeat")
    assert event == {"task": request.task_id, "step": request.key, "attempt": 1}, "the progress may be private"


async def test_of_many_heartbeats_the_last_of_each_second_is_published(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge() -> str:
        for count in range(31):
            current_step().heartbeat(count)
            await asyncio.sleep(0.1)
        return "done"

    world = start(agent)
    await world.ask("payments.charge")
    *words, reply = await heard(world, 5)
    assert isinstance(reply, Reply)
    told = [(word.progress, round(word.at - START, 1)) for word in words if isinstance(word, Progress)]
    assert told == [(b"0", 0.0), (b"9", 0.9), (b"19", 1.9), (b"29", 2.9)]
    assert len(world.told("agent.heartbeat")) == 4


async def test_several_calls_publish_their_progress_each(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge(number: int) -> None:
        current_step().heartbeat(f"{number} begun")
        current_step().heartbeat(f"{number} half")
        await asyncio.sleep(5)

    world = start(agent)
    for number in range(3):
        await world.ask("payments.charge", number, task=f"uid-{number}")
    words = await heard(world, 6)
    assert {(word.task, word.progress) for word in words if isinstance(word, Progress)} == {
        (f"uid-{number}", b'"%d %s"' % (number, stage)) for number in range(3) for stage in (b"begun", b"half")
    }


async def test_a_heartbeat_without_progress_tells_the_scheduler_nothing(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge() -> None:
        current_step().heartbeat()

    world = start(agent)
    await world.ask("payments.charge")
    (reply,) = await heard(world, 1)
    assert isinstance(reply, Reply)
    assert world.told("agent.heartbeat") == []


async def test_pending_progress_goes_before_a_reply_after_which_the_step_goes_on(start: Start) -> None:
    agent = Agent("payments", retry=Retry(attempts=1))

    @agent.operation()
    async def charge(fails: bool) -> None:
        current_step().heartbeat("begun")
        await asyncio.sleep(0.1)
        current_step().heartbeat("half")
        await asyncio.sleep(0.1)
        if fails:
            raise OSError("no answer")

    world = start(agent)
    await world.ask("payments.charge", True)
    begun, half, reply = await heard(world, 3)
    assert [msgspec.structs.asdict(word)["progress"] for word in (begun, half)] == [b'"begun"', b'"half"']
    assert isinstance(reply, Reply)
    assert reply.outcome is Outcome.GAVE_UP
    await world.ask("payments.charge", False, task="uid-2")
    begun, reply = await heard(world, 2)
    assert isinstance(reply, Reply)
    assert reply.outcome is Outcome.COMPLETED
    assert await world.is_silent(5)


async def test_the_next_attempt_is_given_the_last_progress(start: Start) -> None:
    agent = Agent("payments", retry=Retry(attempts=2, initial=0))
    given: list[Any] = []

    @agent.operation()
    async def charge() -> None:
        given.append(current_step().progress)
        current_step().heartbeat(len(given))
        if len(given) < 3:
            raise OSError("no answer")

    world = start(agent)
    await world.ask("payments.charge")
    assert [type(word) for word in await heard(world, 3)] == [Progress, Progress, Reply]
    await world.ask("payments.charge", attempt=2, progress=b'{"page":7}')
    await heard(world, 1)
    assert given == [None, 1, {"page": 7}]


@pytest.mark.parametrize(
    ("progress", "kind", "message"),
    [
        (
            "x" * PROGRESS_BYTES,
            PayloadTooLarge,
            "expected at most 2,048 bytes of JSON, found 2,050; store it elsewhere and pass a reference",
        ),
        (float("nan"), InvalidPayload, "progress of payments.charge: expected numbers that JSON can hold"),
        (object(), InvalidPayload, "progress of payments.charge: expected a value that JSON can hold"),
    ],
)
async def test_progress_that_cannot_be_encoded_is_the_operations_error(
    start: Start, progress: object, kind: type[Exception], message: str
) -> None:
    agent = Agent("payments")
    raised: list[Exception] = []

    @agent.operation()
    async def charge() -> None:
        with pytest.raises(kind) as caught:
            current_step().heartbeat(progress)
        raised.append(caught.value)

    world = start(agent)
    await world.ask("payments.charge")
    (reply,) = await heard(world, 1)
    assert isinstance(reply, Reply)
    assert message in str(raised[0])


async def test_progress_of_2_kib_is_published(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge() -> None:
        current_step().heartbeat("x" * (PROGRESS_BYTES - 2))
        await asyncio.sleep(1)

    world = start(agent)
    await world.ask("payments.charge")
    (word,) = await heard(world, 1)
    assert isinstance(word, Progress)
    assert len(word.progress) == PROGRESS_BYTES


async def test_a_thread_may_beat(start: Start) -> None:
    agent = Agent("payments")
    gate = threading.Event()

    @agent.operation()
    def charge() -> None:
        current_step().heartbeat("from a thread")
        gate.wait(10)

    world = start(agent)
    await world.ask("payments.charge", complete_by=START + 1e9)
    (word,) = await heard(world, 1)
    assert isinstance(word, Progress)
    assert word.progress == b'"from a thread"'
    gate.set()


async def test_progress_that_cannot_be_published_is_logged_and_harms_nothing(start: Start) -> None:
    class Refusing(MemoryTransport):
        async def publish(self, queue: str, messages: Any) -> None:
            if any(isinstance(message, Progress) for message in messages):
                raise TransportError("queue full")
            await super().publish(queue, messages)

    agent = Agent("payments")

    @agent.operation()
    async def charge() -> str:
        current_step().heartbeat("half")
        await asyncio.sleep(0.1)
        return "done"

    world = start(agent, transport=Refusing(asyncio.get_running_loop().time))
    reply = await world.call("payments.charge")
    assert reply.output == b'"done"'
    assert [event["verb"] for event in world.told("agent.transport_failed")] == ["publish"]


async def test_a_call_that_was_dropped_has_no_heartbeat(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge() -> None:
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            current_step().heartbeat("still here")
            await asyncio.sleep(1)

    world = start(agent)
    await world.ask("payments.charge", complete_by=START + 2)
    assert await world.is_silent(10)
    assert world.told("agent.heartbeat") == []
