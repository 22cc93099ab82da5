"""A process dies at each named point of the protocol; another brings every task to its end."""

from __future__ import annotations

import asyncio

import pytest

from stepward.client import session_of
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
NEEDS_EXPIRY = ("turn.watch", "supervisor.")
"""Points that are passed only when a step runs out of time."""
START_BOUND = 20.0
"""Seconds for whatever is not the protocol's own: starting Python, a busy machine."""

ALONE = [
    *("turn.submit.before", "turn.submit.after", "turn.submit.after:3"),
    *("turn.claim.before", "turn.claim.after"),
    *("turn.start.before", "turn.start.after", "turn.start.after:3"),
    *("requests.publish.before", "requests.publish.after", "requests.publish.after:4"),
    *("turn.watch.before", "turn.watch.after"),
    *("turn.finish.before", "turn.finish.after", "turn.finish.after:5"),
    *("replies.settle.before", "replies.settle.before:3"),
    *("transaction.commit.after", "transaction.commit.after:2"),
    *("agent.call.before", "agent.call.after", "agent.call.after:6", "agent.reply.after"),
    *("turn.start_undo.before", "turn.start_undo.after", "turn.start_undo.after:3"),
    *("turn.finish_undo.before", "turn.finish_undo.after", "turn.end_undo.before", "turn.end_undo.after"),
    *("supervisor.pass.before:3", "supervisor.decide.before", "supervisor.decide.after"),
    *("store.commit.before:8", "store.commit.after:8", "store.commit.after:15"),
]
"""Rows 1-5, 11, 12, 62 and 67, each on one process that does everything."""
IN_EACH_RUN = [
    *("turn.start.before", "turn.start.after", "turn.finish.after", "replies.settle.before"),
    *("agent.call.after", "turn.start_undo.after", "supervisor.decide.after"),
]
"""One of each kind; the simulation dies at all of them."""

APART = [
    *[
        ("scheduler", name)
        for name in (
            "turn.claim.before",
            "turn.claim.after",
            "turn.start.before",
            "turn.start.after",
            "turn.requests.before",
            "turn.requests.after",
            "turn.requests.after:3",
        )
    ],
    *[
        ("scheduler", name)
        for name in (
            "turn.watch.after",
            "turn.finish.before",
            "turn.finish.after:2",
            "replies.settle.before",
            "transaction.commit.after",
        )
    ],
    *[
        ("scheduler", name)
        for name in (
            "turn.start_undo.after",
            "turn.finish_undo.before",
            "turn.finish_undo.after",
            "turn.end_undo.before",
            "turn.end_undo.after",
        )
    ],
    *[
        ("agent", name)
        for name in (
            "agent.call.before",
            "agent.call.after",
            "agent.call.after:5",
            "agent.reply.before",
            "agent.reply.before:3",
            "agent.reply.after",
            "agent.reply.after:3",
        )
    ],
    *[
        ("supervisor", name)
        for name in ("supervisor.pass.before:3", "supervisor.decide.before", "supervisor.decide.after")
    ],
]
"""The same rows with each actor in a process of its own, and queues in the store."""
ON_POSTGRESQL = [
    *[
        ("scheduler", name)
        for name in (
            "turn.claim.after",
            "turn.start.after",
            "turn.requests.after",
            "turn.watch.after",
            "turn.finish.after:2",
            "replies.settle.before",
        )
    ],
    *[
        ("scheduler", name)
        for name in (
            "transaction.commit.after",
            "turn.start_undo.after",
            "turn.finish_undo.after",
            "turn.end_undo.before",
        )
    ],
    *[("agent", name) for name in ("agent.call.after", "agent.reply.before", "agent.reply.after")],
    *[
        ("supervisor", name)
        for name in ("supervisor.pass.before:3", "supervisor.decide.before", "supervisor.decide.after")
    ],
]
"""Each point once, on the side of its commit where more is at stake."""


@pytest.mark.parametrize("failpoint", sampled(ALONE, *IN_EACH_RUN))
async def test_one_process_dies_and_another_takes_over(open_scene: Open, failpoint: str) -> None:
    """Rows 1, 2, 3, 4, 5, 11, 12, 62, 67: and the client submits everything again, for it got no answer."""
    scene = await open_scene("local")
    tasks = _tasks(failpoint)
    first = await scene.launch(failpoint=failpoint)
    if failpoint.startswith("turn.claim"):
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
        return len(await session_of(scene.client).store.client.workflows()) >= 5

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
