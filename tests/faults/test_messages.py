"""Messages that are lost, doubled and late, and connections that are reset or hang, between actors and brokers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.faults.amqp_wire import AmqpWire
from tests.faults.mischief import Mischief
from tests.faults.nats_wire import NatsWire
from tests.faults.wires import Wire
from tests.faults.world import World

pytestmark = pytest.mark.faults

BROKERS = pytest.mark.parametrize("broker", ["nats", "rabbitmq"], indirect=True)
SEED = 20261122
PACE = 0.1
"""Slow enough that messages do not all travel together."""
LEAST = 4
"""So many messages at least must have met each fate, or the test shows nothing."""


@BROKERS
async def test_messages_that_are_lost_doubled_and_late_change_nothing(broker: str, tmp_path: Path) -> None:
    """Rows 22, 23, 24: also what the broker confirmed is lost, and what it did not confirm has arrived."""
    port = _port(broker)
    wire: Wire
    if broker.startswith("amqp"):
        mischief = Mischief(SEED, lost=0.12, doubled=0.15, late=0.15)
        wire = AmqpWire(port, mischief)
    else:
        mischief = Mischief(SEED, lost=0.05, doubled=0.1, late=0.1)
        wire = NatsWire(port, mischief)
    async with wire, World(tmp_path, broker, complete_by=1.5) as world:
        address = broker.replace(str(port), str(wire.port))
        for role in ("scheduler", "supervisor", "agent", "agent"):
            await world.start(role, transport=address)
        while not _has_shown(mischief):
            await world.submit("order", 3)
            await world.submit("refused")
            await asyncio.sleep(PACE)
        await world.settled()


@BROKERS
@pytest.mark.parametrize("verb", ["cut", "hang"])
async def test_connections_that_are_reset_or_hang_cost_time_alone(broker: str, verb: str, tmp_path: Path) -> None:
    """Row 25: each actor notices, and connects again."""
    port = _port(broker)
    async with Wire(port) as wire, World(tmp_path, broker, complete_by=3.0) as world:
        address = broker.replace(str(port), str(wire.port))
        for role in ("scheduler", "supervisor", "agent", "agent"):
            await world.start(role, transport=address)
        async with world.load():
            assert await world.open() > 0
            assert (wire.cut() if verb == "cut" else wire.hang()) >= 3
        await world.submit("order", 2)
        await world.settled()
        assert wire.connections >= 6


def _has_shown(mischief: Mischief) -> bool:
    return min(mischief.count("lost"), mischief.count("doubled"), mischief.count("late")) >= LEAST


def _port(address: str) -> int:
    return int(address.rstrip("/").rpartition(":")[2])
