"""A process dies at each named point of the protocol; another brings every task to its end."""

from __future__ import annotations

import asyncio

import pytest

from tests.crash.application import COMPLETE_BY, LEASE
from tests.crash.conftest import Open
from tests.crash.oracle import settled
from tests.crash.scene import KILLED, Scene, now_of, until
from tests.tiers import sampled

pytestmark = pytest.mark.servers

TASKS = {
    **{f"order-{number}": "order" for number in range(3)},
    **{f"refused-{number}": "refused" for number in range(2)},
}
NEEDS_EXPIRY = ("W5", "U")
"""Points that are passed only when a step runs out of time."""
START_BOUND = 20.0
"""Seconds for whatever is not the protocol's own: starting Python, a busy machine."""

ALONE = [
    *("W1.before", "W1.after", "W1.after:3"),
    *("W2.before", "W2.after"),
    *("W3.before", "W3.after", "W3.after:3"),
    *("W4.before", "W4.after", "W4.after:4"),
    *("W5.before", "W5.after"),
    *("W6.before", "W6.after", "W6.after:5"),
    *("W7.before", "W7.before:3"),
    *("T.after", "T.after:2"),
    *("A3.before", "A3.after", "A3.after:6", "A4.after"),
    *("C1.before", "C1.after", "C1.after:3"),
    *("C3.before", "C3.after", "C5.before", "C5.after"),
    *("U1.before:3", "U2.before", "U3.after"),
    *("store.commit.before:8", "store.commit.after:8", "store.commit.after:15"),
]
"""Rows 1-5, 11, 12, 62 and 67, each on one process that does everything."""
IN_EACH_RUN = [
    *("W1.after", "W2.after", "W3.before", "W3.after", "W4.after", "W6.before", "W6.after", "W7.before"),
    *("A3.after", "C1.after", "C3.before", "U3.after"),
]
"""One of each kind; the simulation dies at all of them."""

APART = [
    *[("scheduler", name) for name in ("W2.before", "W2.after", "W3.before", "W3.after", "W4.before", "W4.after")],
    *[("scheduler", name) for name in ("W5.after", "W6.before", "W6.after:2", "W7.before", "T.after")],
    *[("scheduler", name) for name in ("C1.after", "C3.before", "C3.after", "C5.before", "C5.after")],
    *[("agent", name) for name in ("A3.before", "A3.after", "A3.after:5", "A4.after", "A4.after:3")],
    *[("supervisor", name) for name in ("U1.before:3", "U2.before", "U3.after")],
]
"""The same rows with each actor in a process of its own, and queues in the store."""
ON_POSTGRESQL = [
    *[("scheduler", name) for name in ("W2.after", "W3.after", "W4.before", "W5.after", "W6.after:2", "W7.before")],
    *[("scheduler", name) for name in ("T.after", "C1.after", "C3.after", "C5.before")],
    *[("agent", name) for name in ("A3.after", "A4.after")],
    *[("supervisor", name) for name in ("U1.before:3", "U2.before", "U3.after")],
]
"""Each point once, on the side of its commit where more is at stake."""


@pytest.mark.parametrize("failpoint", sampled(ALONE, *IN_EACH_RUN))
async def test_one_process_dies_and_another_takes_over(open_scene: Open, failpoint: str) -> None:
    """Rows 1, 2, 3, 4, 5, 11, 12, 62, 67: and the client submits everything again, for it got no answer."""
    scene = await open_scene("local")
    tasks = _tasks(failpoint)
    first = await scene.launch(failpoint=failpoint)
    if failpoint.startswith("W2"):
        # What is submitted within the process is born claimed.
        await _submit_around(scene, tasks)
    else:
        for id, workflow in tasks.items():
            await first.submit(workflow, id)
    assert await first.dies() in KILLED, first.errors.read_text()[-2000:]
    await _recover(scene, tasks, "scheduler", "agent", "supervisor")


@pytest.mark.faults
@pytest.mark.parametrize(
    ("store", "role", "failpoint"),
    [*(("sqlite", *each) for each in APART), *(("postgresql", *each) for each in ON_POSTGRESQL)],
)
async def test_one_of_three_processes_dies_and_is_replaced(open_scene: Open, role: str, failpoint: str) -> None:
    """Rows 2, 3, 4, 5, 11, 12, 62, 67: the others go on meanwhile, and are not confused by it."""
    scene = await open_scene("store")
    others = [await scene.start(name) for name in ("scheduler", "agent", "supervisor") if name != role]
    victim = await scene.launch(role, failpoint=failpoint)
    tasks = _tasks(failpoint)
    await _submit_around(scene, tasks)
    assert await victim.dies() in KILLED, victim.errors.read_text()[-2000:]
    await _recover(scene, tasks, role)
    assert all(process.is_alive for process in others)


def _tasks(failpoint: str) -> dict[str, str]:
    return {**TASKS, "slow-0": "slow"} if failpoint.startswith(NEEDS_EXPIRY) else TASKS


async def _submit_around(scene: Scene, tasks: dict[str, str]) -> None:
    """Submit by way of the store: nothing is born claimed."""

    async def is_registered() -> bool:
        return len(await scene.client.store.workflows()) >= 5

    await until(is_registered)
    await scene.submit(tasks)


async def _recover(scene: Scene, tasks: dict[str, str], *roles: str) -> None:
    died_at = now_of(scene)
    await scene.submit(tasks)
    await scene.start(*roles)
    await settled(scene, tasks)
    for status in await asyncio.gather(*[scene.client.task(id).status() for id in tasks]):
        assert status.finished_at is not None
        # "slow" waits for a complete-by of its own; every other one for the dead process's lease and one at most.
        expiries = 2 if status.workflow == "slow" else 1
        assert status.finished_at - died_at < LEASE + expiries * COMPLETE_BY + START_BOUND
