"""Processes die while orders come in and word goes out over a broker: as many orders as messages, as many tasks as
orders, and of each task every event, in order and without a gap."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stepward.client import session_of
from tests.crash.application import REPLIES
from tests.crash.broker import BrokerScene, address_of
from tests.crash.hearing import check_heard, lives
from tests.crash.oracle import settled
from tests.crash.scene import KILLED, Process, until

MESSAGES = {
    **{f"order-{number}": "order" for number in range(4)},
    **{f"refused-{number}": "refused" for number in range(2)},
}
EVENTS_A_LIFE = 5
WAYS = [
    ("nats", "submission.take.after"),
    ("nats", "submission.commit.after"),
    ("nats", "submission.acknowledge.after"),
    ("rabbitmq", "submission.commit.after"),
]
CARRYING = [
    ("nats", "status_events.delete.before:3"),
    ("nats", "status_events.delete.before>store.commit.before"),
    ("nats", "status_events.delete.after"),
    ("rabbitmq", "status_events.delete.before:3"),
]

pytestmark = [pytest.mark.faults, pytest.mark.timeout(120)]


@pytest.fixture(params=["nats", "rabbitmq"])
def broker(request: pytest.FixtureRequest) -> str:
    """Each of them, unless a test names its own."""
    name: str = request.param
    return name


@pytest.fixture
async def scene(broker: str, tmp_path: Path) -> AsyncIterator[BrokerScene]:
    scene = BrokerScene(tmp_path, await address_of(broker))
    await scene.open()
    yield scene
    await scene.close()


@pytest.mark.parametrize(("broker", "way"), WAYS)
async def test_a_submission_process_dies_and_another_takes_over(scene: BrokerScene, way: str) -> None:
    """Between the commit and the acknowledgement, too: the message comes again, and there is its task."""
    await scene.start()
    await scene.post(MESSAGES)
    await scene.post(MESSAGES)
    first = await scene.launch("submission", way=way)
    assert await first.dies() in KILLED, first.errors.read_text()[-2000:]
    await scene.start("submission")
    await _all_are_placed(scene, MESSAGES)
    await scene.post({**MESSAGES, "last": "order"})
    await _all_are_placed(scene, {**MESSAGES, "last": "order"})
    await settled(scene, {**MESSAGES, "last": "order"})
    assert await scene.client.dead_letters() == []


async def test_a_submission_process_that_slept_past_its_leases_changes_nothing(scene: BrokerScene) -> None:
    await scene.start()
    await scene.post(MESSAGES)
    sleeper = await scene.launch("submission", stop="submission.commit.after")
    await sleeper.hears("stopping")
    await scene.start("submission")
    await _all_are_placed(scene, MESSAGES)
    await scene.post({"later": "order"})
    await _all_are_placed(scene, {**MESSAGES, "later": "order"})
    sleeper.signal(signal.SIGCONT)
    await scene.post({"last": "order"})
    await _all_are_placed(scene, {**MESSAGES, "later": "order", "last": "order"})
    await settled(scene, {**MESSAGES, "later": "order", "last": "order"})
    assert sleeper.is_alive


async def test_poison_kills_five_processes_and_no_neighbour(scene: BrokerScene) -> None:
    await scene.start()
    await scene.post({"order-0": "order", "poison": "poison", "order-1": "order", "order-2": "order"})
    for _ in range(5):
        victim = await scene.launch("submission")
        assert await victim.dies() in KILLED, victim.errors.read_text()[-2000:]
    await scene.start("submission")
    orders = {f"order-{number}": "order" for number in range(3)}
    await _all_are_placed(scene, orders)
    await settled(scene, orders)

    async def is_buried() -> bool:
        return bool(await scene.client.dead_letters())

    await until(is_buried)
    (letter,) = await scene.client.dead_letters()
    assert letter.reason == "message 'poison': taken 5 times, and each time the process ended"
    assert letter.queue == "submissions.crash.orders"


@pytest.mark.parametrize(("broker", "way"), CARRYING)
async def test_a_scheduler_dies_while_it_carries_events(scene: BrokerScene, tmp_path: Path, way: str) -> None:
    """Readers die as well, each between being given and settling."""
    journal = tmp_path / "journal"
    for role in ("agent", "supervisor", "submission"):
        await scene.start(role)
    victim = await scene.launch("scheduler", **({"way": way} if ">" in way else {"failpoint": way}))
    reading = asyncio.create_task(_read_and_die(scene, journal))
    await scene.post(MESSAGES, reply_to=REPLIES)
    assert await victim.dies() in KILLED, victim.errors.read_text()[-2000:]
    await scene.start("scheduler")
    await settled(scene, MESSAGES)
    await until(scene.are_carried)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await _read_to_the_end(scene, journal)
    await check_heard(scene, journal)
    heard = [event for life in lives(journal) for event in life]
    assert len(heard) > len({event.id for event in heard}), "no reader died with something unsettled"


async def test_a_scheduler_that_slept_while_it_carried_puts_nothing_out_of_order(
    scene: BrokerScene, tmp_path: Path
) -> None:
    """It wakes up, and what it still has to send comes behind what others sent: a double, given once."""
    journal = tmp_path / "journal"
    for role in ("agent", "supervisor", "submission"):
        await scene.start(role)
    sleeper = await scene.launch("scheduler", stop="status_events.delete.before")
    await scene.post(MESSAGES, reply_to=REPLIES)
    await sleeper.hears("stopping")
    await scene.start("scheduler")
    await settled(scene, MESSAGES)
    await until(scene.are_carried)
    sleeper.signal(signal.SIGCONT)
    await scene.post({"last": "order"}, reply_to=REPLIES)
    await _all_are_placed(scene, {**MESSAGES, "last": "order"})
    await settled(scene, {**MESSAGES, "last": "order"})
    await until(scene.are_carried)
    await _read_to_the_end(scene, journal)
    await check_heard(scene, journal)


async def _all_are_placed(scene: BrokerScene, messages: dict[str, str]) -> None:
    async def look() -> bool:
        return set(await scene.placed()) >= set(messages)

    await until(look)
    assert Counter(await scene.placed()) == Counter(list(messages))


async def _read_and_die(scene: BrokerScene, journal: Path) -> None:
    """Readers, one after the other; each dies between being given and settling."""
    while True:
        reader = await _launch(scene, journal, EVENTS_A_LIFE)
        try:
            assert await reader.dies() in KILLED, reader.errors.read_text()[-2000:]
        finally:
            await reader.kill()


async def _read_to_the_end(scene: BrokerScene, journal: Path) -> None:
    """Another reader goes on from where they left off, until each task's last event was received."""
    reader = await _launch(scene, journal, 0)
    await reader.hears("ready")
    ends = {status.id: status for status in await scene.client.tasks(limit=1000)}

    async def look() -> bool:
        heard = {event.id for life in lives(journal) for event in life}
        records = [await session_of(scene.client).record(id) for id in ends]
        return all(f"{record.uid}/{record.events}" in heard for record in records)

    await until(look)
    await reader.kill()


async def _launch(scene: BrokerScene, journal: Path, events: int) -> Process:
    return await scene.run("tests.crash.reader", scene.transport, REPLIES, str(journal), CRASH_READ=str(events))
