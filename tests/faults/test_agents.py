"""Agents that die, stand still and overrun, over brokers."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import msgspec
import nats
import pytest
from nats.aio.msg import Msg

from tests.crash.scene import KILLED, until
from tests.faults.amqp_wire import AmqpWire
from tests.faults.mischief import Mischief
from tests.faults.world import World

pytestmark = pytest.mark.faults

BROKERS = pytest.mark.parametrize("broker", ["nats", "rabbitmq"], indirect=True)
POINTS = ("agent.call.before", "agent.call.after", "agent.reply.after")


@BROKERS
async def test_agents_die_before_during_and_after_their_effect(broker: str, tmp_path: Path) -> None:
    """Rows 11, 12: what they held is done by another, under the same keys."""
    async with World(tmp_path, broker, complete_by=1.5) as world:
        await world.start("scheduler", "supervisor")
        victims = await asyncio.gather(*[world.begin("agent", failpoint=point) for point in POINTS])
        await world.submit("order", 6)
        await world.submit("refused", 3)
        for victim in victims:
            assert await victim.dies() in KILLED, victim.errors.read_text()[-2000:]
        await world.start("agent")
        await world.settled()


@BROKERS
@pytest.mark.parametrize("when", ["pause", "pause-after"])
async def test_an_agent_that_stood_still_changes_nothing(broker: str, when: str, tmp_path: Path) -> None:
    """Rows 13, 15: another has done the step when it wakes; what it still does is deduplicated, and it says nothing."""
    async with World(tmp_path, broker, complete_by=1.5) as world:
        await world.start("scheduler", "supervisor")
        sleeper = await world.begin("agent")
        (id,) = await world.submit(f"slow {when}")
        await sleeper.hears("stopping")
        await world.start("agent")
        await world.settled()
        done = await world.attempts(id)
        before = sum(world.calls().values())
        sleeper.signal(signal.SIGCONT)
        if when == "pause":
            await until(lambda: _became(world, before + 1))
        await world.submit("order", 4)
        await world.settled()
        assert await world.attempts(id) == done


async def test_an_overrun_is_silent_and_the_step_is_repeated_elsewhere_over_nats(node: str, tmp_path: Path) -> None:
    """Rows 13, 15, as a subscriber beside the application hears it."""
    async with World(tmp_path, node, complete_by=1.0) as world:
        heard: list[bytes] = []
        tap = await nats.connect(node)

        async def hear(message: Msg) -> None:
            heard.append(message.data)

        await tap.subscribe(f"stepward.{world.name}.queue.>", cb=hear)
        try:
            await _overrun(world, node, heard)
        finally:
            await tap.close()


@pytest.mark.parametrize("broker", ["rabbitmq"], indirect=True)
async def test_an_overrun_is_silent_and_the_step_is_repeated_elsewhere_over_rabbitmq(
    broker: str, tmp_path: Path
) -> None:
    """Rows 13, 15, as it passes on its way to the server."""
    port = int(broker.rpartition(":")[2].strip("/"))
    async with AmqpWire(port, Mischief(1)) as wire, World(tmp_path, broker, complete_by=1.0) as world:
        await _overrun(world, broker.replace(str(port), str(wire.port)), wire.bodies)


async def _overrun(world: World, address: str, heard: list[bytes]) -> None:
    await world.start("scheduler", "supervisor", transport=address)
    for label in ("one", "other"):
        await world.start("agent", transport=address, concurrency=1, label=label)
    (id,) = await world.submit("slow deaf:2.5")
    await world.settled()
    # Deaf, the first goes on past its complete-by, and acts.
    await until(lambda: _became(world, 3))
    await world.submit("order", 2)
    await world.settled()
    first = [(label, attempt) for label, key, attempt in world.acts if key.endswith("bank.pay/1")][:2]
    assert [attempt for _, attempt in first] == [1, 2]
    assert first[0][0] != first[1][0]
    events = [event for body in heard if body for event in msgspec.json.decode(body)]
    asked = {
        (e["attempt"], e["idempotencykey"]) for e in events if e.get("subject") == id and e["step"] == "bank.pay/1"
    }
    assert {attempt for attempt, _ in asked} == {1, 2}
    assert len({key for _, key in asked}) == 1
    task = next(e["correlationid"] for e in events if e.get("subject") == id)
    replies = [e for e in events if e["type"] == "stepward.reply" and e["correlationid"] == task]
    assert [e["attempt"] for e in replies if e["step"] == "bank.pay/1"] == [2]


async def _became(world: World, calls: int) -> bool:
    return sum(world.calls().values()) >= calls
