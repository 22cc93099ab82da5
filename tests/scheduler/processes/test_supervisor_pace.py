"""The pauses of a Supervisor: regular, cut short where an attempt failed, and never short for long."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepward.host.actors.supervisor_pace import SupervisorPace
from tests.scheduler.world import VirtualClock, World


def now() -> float:
    return asyncio.get_running_loop().time()


async def paused(pace: SupervisorPace, delay: float) -> float:
    began = now()
    await pace.pause(delay)
    return now() - began


async def test_where_nothing_happens_the_pause_is_as_long_as_it_is_to_be() -> None:
    pace = SupervisorPace(VirtualClock())
    assert [await paused(pace, 1.0) for _ in range(3)] == pytest.approx([1.0] * 3, abs=0.001)
    assert await paused(pace, 0.0) == pytest.approx(0.0, abs=0.001)


async def test_a_pass_that_is_asked_for_comes_soon_and_the_regular_one_in_its_time() -> None:
    pace = SupervisorPace(VirtualClock())
    pace.ask()
    assert await paused(pace, 1.0) == pytest.approx(0.05, abs=0.001)
    assert await paused(pace, 1.0) == pytest.approx(0.95, abs=0.001)


async def test_a_change_by_another_process_has_a_pass_made_less_soon() -> None:
    pace = SupervisorPace(VirtualClock())
    pace.hint()
    assert await paused(pace, 1.0) == pytest.approx(0.25, abs=0.001)
    assert await paused(pace, 1.0) == pytest.approx(0.75, abs=0.001)


async def test_a_standby_supervisor_makes_its_regular_passes_only(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.run(world.app([]), scheduler=False, agents=False)
    running = await world.run(world.app([]), scheduler=False, agents=False)
    await asyncio.sleep(3)
    lead, led = running.store.supervisor.lead, list[int | None]()

    async def counted(*given: Any) -> int | None:
        led.append(await lead(*given))
        return led[-1]

    monkeypatch.setattr(running.store.supervisor, "lead", counted)
    for _ in range(100):
        running.hints.hint()
        await asyncio.sleep(0.1)
    assert set(led) == {None}
    assert 9 <= len(led) <= 11
