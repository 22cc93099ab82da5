"""SIGTERM: nothing new is taken, what runs may end, and everything else is free for others at once."""

from __future__ import annotations

import signal

import pytest

from stepward.client import session_of
from tests.crash.conftest import Open
from tests.crash.oracle import settled
from tests.crash.scene import KILLED, Scene, until

pytestmark = pytest.mark.servers

TASKS = {**{f"slow-{n}": "slow:long" for n in range(4)}, "order-0": "order"}


@pytest.mark.parametrize("transport", ["local", "store"])
async def test_a_drained_process_hands_its_tasks_over(open_scene: Open, transport: str) -> None:
    """Row 9: the steps under way end within the grace, no task counts a failure, and none stays locked."""
    scene = await open_scene(transport)
    first = await scene.start()
    await scene.submit(TASKS)
    await until(lambda: _has_begun(scene))
    first.signal(signal.SIGTERM)
    await first.hears("stopped")
    assert await first.dies() == 0
    states = [await scene.client.task(id).status() for id in TASKS]
    assert [status.locked_by for status in states] == [None] * len(TASKS)
    assert [each for each in await scene.client.instances() if each.alive] == []
    await scene.start()
    await settled(scene, TASKS)
    assert [(await scene.client.task(id).status()).failure_count for id in TASKS] == [0] * len(TASKS)
    assert {entry.calls for entry in scene.ledger.entries()} == {1}


async def test_after_two_signals_it_still_ends_in_good_order(open_scene: Open) -> None:
    """Row 9: a second SIGTERM changes nothing."""
    scene = await open_scene("local")
    first = await scene.start()
    await scene.submit(TASKS)
    await until(lambda: _has_begun(scene))
    first.signal(signal.SIGTERM)
    first.signal(signal.SIGTERM)
    assert await first.dies() == 0
    await scene.start()
    await settled(scene, TASKS)


async def test_killed_while_it_drains(open_scene: Open) -> None:
    """Row 9: SIGTERM, then SIGKILL before the grace is over."""
    scene = await open_scene("local")
    first = await scene.start()
    await scene.submit(TASKS)
    await until(lambda: _has_begun(scene))
    first.signal(signal.SIGTERM)
    first.signal(signal.SIGKILL)
    assert await first.dies() in KILLED
    await scene.start()
    await settled(scene, TASKS)


async def _has_begun(scene: Scene) -> bool:
    """Whether each slow task is at its long step."""
    steps = [await session_of(scene.client).store.client.steps(id) for id in TASKS if id.startswith("slow")]
    return all(len(each) == 2 for each in steps)
