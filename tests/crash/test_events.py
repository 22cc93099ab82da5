"""The Scheduler dies at each point of the outbox and the reader between taking and settling: each order's events
arrive in order, without a gap, and a double has the same id and sequence."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.crash.application import REPLIES
from tests.crash.conftest import Open
from tests.crash.hearing import check_heard, lives
from tests.crash.oracle import settled
from tests.crash.scene import KILLED, Process, Scene
from tests.tiers import sampled

pytestmark = pytest.mark.servers

MESSAGES = {
    **{f"order-{number}": "order" for number in range(4)},
    **{f"refused-{number}": "refused" for number in range(2)},
}
EVENTS_A_LIFE = 5

POINTS = [
    *(
        "turn.status_events.before",
        "turn.status_events.after",
        "turn.status_events.before:3",
        "turn.status_events.after:3",
        "turn.status_events.after:6",
    ),
    *("turn.claim.before", "turn.claim.after"),
    *("turn.finish.before", "turn.finish.after", "turn.finish.before:4", "turn.finish.after:4"),
    *("turn.status_events.before>store.commit.before", "turn.status_events.before>store.commit.after"),
    *(
        "turn.finish.before>turn.status_events.before>store.commit.before",
        "turn.finish.before>turn.status_events.before>store.commit.after",
    ),
]
"""Each is a failpoint with its number, or failpoints to be passed in that order."""
ON_POSTGRESQL = [
    "turn.status_events.before:3",
    "turn.status_events.after:3",
    "turn.finish.before>turn.status_events.before>store.commit.after",
]


@pytest.mark.parametrize(
    ("store", "point"),
    sampled(
        [*(("sqlite", point) for point in POINTS), *(("postgresql", point) for point in ON_POSTGRESQL)],
        ("sqlite", "turn.status_events.after"),
    ),
)
async def test_each_orders_events_arrive_in_order_and_without_a_gap(
    open_scene: Open, tmp_path: Path, point: str
) -> None:
    scene = await open_scene("store")
    journal = tmp_path / "journal"
    for role in ("agent", "supervisor", "submission"):
        await scene.start(role)
    victim = await scene.launch("scheduler", **({"way": point} if ">" in point else {"failpoint": point}))
    reading = asyncio.create_task(_read_and_die(scene, journal))
    await scene.post(MESSAGES, reply_to=REPLIES)
    assert await victim.dies() in KILLED, victim.errors.read_text()[-2000:]
    await scene.start("scheduler")
    await settled(scene, MESSAGES)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await _read_to_the_end(scene, journal)
    await check_heard(scene, journal)
    heard = [event for life in lives(journal) for event in life]
    assert len(heard) > len({event.id for event in heard}), "no reader died with something unsettled"


async def _read_and_die(scene: Scene, journal: Path) -> None:
    """Readers, one after the other; each dies between taking and settling."""
    while True:
        reader = await _launch(scene, journal, EVENTS_A_LIFE)
        try:
            assert await reader.dies() in KILLED, reader.errors.read_text()[-2000:]
        finally:
            await reader.kill()


async def _read_to_the_end(scene: Scene, journal: Path) -> None:
    """Another reader goes on from where they left off, until every event was received."""
    reader = await _launch(scene, journal, 0)
    await scene.emptied(REPLIES)
    await reader.kill()


async def _launch(scene: Scene, journal: Path, events: int) -> Process:
    return await scene.run("tests.crash.reader", scene.store, REPLIES, str(journal), CRASH_READ=str(events))
