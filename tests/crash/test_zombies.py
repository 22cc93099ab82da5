"""Processes that stand still past their lease and wake up: what they still do changes nothing."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from stepward.client import session_of
from stepward.errors import TaskCancelled
from stepward.model.records import Role
from stepward.model.states import StepState, TaskState
from tests.crash.conftest import BOTH, Open
from tests.crash.oracle import check, settled
from tests.crash.scene import Scene, until
from tests.tiers import sampled

pytestmark = pytest.mark.servers

TASKS = {"order-0": "order", "refused-0": "refused", "slow-0": "slow"}


STOPS = [
    *(
        "turn.claim.after",
        "turn.start.before:2",
        "turn.start.after",
        "requests.publish.before:2",
        "turn.finish.before",
        "turn.finish.after:2",
        "transaction.commit.after",
        "agent.call.before:2",
    ),
    *("agent.reply.after", "turn.start_undo.before", "turn.finish_undo.after", "supervisor.decide.before"),
]
COMMITS = ["turn.start.before:2", "turn.finish.before", "store.commit.before:12"]
"""Where a process sleeps with a commit before it."""


@pytest.mark.parametrize(
    ("store", "stop"),
    sampled(
        [*(("sqlite", stop) for stop in STOPS), *(("postgresql", stop) for stop in COMMITS)],
        *(("sqlite", "turn.finish.before"), ("sqlite", "supervisor.decide.before")),
    ),
)
async def test_a_process_that_slept_past_its_lease_changes_nothing(open_scene: Open, stop: str) -> None:
    """Rows 13 and 34: another took over and finished; awake again, the first starts over under a new id."""
    scene = await open_scene("local")
    sleeper = await scene.start(stop=stop)
    if stop.startswith("turn.claim"):
        await scene.submit(TASKS)
    for id, workflow in TASKS.items():
        await sleeper.submit(workflow, id)
    await sleeper.hears("stopping")
    await scene.submit(TASKS)
    await scene.start()
    await settled(scene, TASKS)
    before = await _rows(scene)
    sleeper.signal(signal.SIGCONT)
    await sleeper.submit("order", "after")
    await sleeper.hears("submitted after")
    later = {**TASKS, "after": "order"}
    await settled(scene, later)
    assert {id: rows for id, rows in (await _rows(scene)).items() if id in before} == before
    assert sleeper.is_alive
    assert scene.ledger.late() == 0


@pytest.mark.parametrize("store", BOTH)
async def test_an_agent_that_slept_past_its_deadline_does_not_act(open_scene: Open) -> None:
    """Row 13: the deadline is looked at once more just before the effect, so that nothing is asked for twice."""
    scene = await open_scene("store")
    await scene.start("scheduler", "supervisor")
    sleeper = await scene.start("agent", stop="agent.call.before")
    tasks = {"slow-0": "slow:none"}
    await scene.submit(tasks)
    await sleeper.hears("stopping")
    await scene.start("agent")
    await settled(scene, tasks)
    sleeper.signal(signal.SIGCONT)
    await until(lambda: _are_alive(scene, Role.AGENT, 2))
    await check(scene, tasks)
    assert {entry.calls for entry in scene.ledger.entries()} == {1}


async def test_a_late_effect_is_deduplicated_by_its_key(open_scene: Open) -> None:
    """Row 13: paused just before its effect, an Agent wakes when its step was done elsewhere."""
    scene = await open_scene("store")
    await scene.start("scheduler", "supervisor")
    sleeper = await scene.start("agent")
    tasks = {"slow-0": "slow:pause"}
    await scene.submit(tasks)
    await sleeper.hears("stopping")
    await scene.start("agent")
    await settled(scene, tasks)
    sleeper.signal(signal.SIGCONT)

    async def was_asked_twice() -> bool:
        return any(entry.calls == 2 for entry in scene.ledger.entries() if entry.what == "pause")

    await until(was_asked_twice)
    await check(scene, tasks)
    assert (await scene.client.task("slow-0").status()).state is TaskState.PROCESSED


@pytest.mark.parametrize("store", BOTH)
async def test_a_late_effect_of_a_step_that_was_undone_is_refused(open_scene: Open) -> None:
    """Row 14: paused just before its effect, an Agent wakes when its step was undone: the tombstone stands."""
    scene = await open_scene("store")
    await scene.start("scheduler", "supervisor")
    sleeper = await scene.start("agent")
    await scene.submit({"slow-0": "slow:pause"})
    await sleeper.hears("stopping")
    handle = scene.client.task("slow-0")
    await handle.cancel()

    async def is_over() -> bool:
        # Within its complete-by the attempt would be another Agent's as soon as there is one.
        asked = [step.complete_by or 0.0 for step in await handle.steps() if step.state is StepState.RUNNING]
        return max(asked, default=0.0) < session_of(scene.client).store.now()

    await until(is_over)
    await scene.start("agent")
    with pytest.raises(TaskCancelled):
        await handle.result(timeout=30)
    sleeper.signal(signal.SIGCONT)

    async def came_late() -> bool:
        return scene.ledger.late() == 1

    await until(came_late)
    entries = [(entry.verb, entry.what) for entry in scene.ledger.entries()]
    assert entries == [("do", "first"), ("undo", "pause"), ("undo", "first")]
    assert (await handle.status()).state is TaskState.CANCELLED


async def test_a_blocking_call_costs_the_lease_and_nothing_else(open_scene: Open) -> None:
    """Row 10: an async operation blocks its whole process for three leases; another process goes on meanwhile."""
    scene = await open_scene("local")
    blocked = await scene.start()
    tasks = {"slow-0": "slow:block", "order-0": "order"}
    await blocked.submit("slow:block", "slow-0")
    await blocked.hears("submitted")
    await scene.start()
    await scene.submit(tasks)
    await settled(scene, tasks)
    assert (await scene.client.task("slow-0").status()).failure_count >= 1
    await blocked.submit("order", "after")
    await blocked.hears("submitted after")
    await settled(scene, {**tasks, "after": "order"})
    assert "loop.blocked" in blocked.errors.read_text()


async def test_a_thread_that_never_ends_holds_up_nothing(open_scene: Open) -> None:
    """Row 17: its step is repeated elsewhere in the same Agent, and the process still ends at SIGTERM."""
    scene = await open_scene("local")
    process = await scene.start()
    tasks = {"stuck-0": "stuck", "order-0": "order"}
    await scene.submit(tasks)
    await settled(scene, tasks)
    (first, *_) = await scene.client.task("stuck-0").steps()
    assert (first.attempt, first.failure_count) == (2, 1)
    process.signal(signal.SIGTERM)
    assert await process.dies() == 0


@pytest.mark.parametrize("store", BOTH)
async def test_a_supervisor_that_slept_is_not_the_leader_any_more(open_scene: Open) -> None:
    """Row 39: stopped just before it decides, a Supervisor wakes when another leads: its decisions are void."""
    scene = await open_scene("store")
    await scene.start("scheduler", "agent")
    sleeper = await scene.start("supervisor", stop="supervisor.decide.before")
    tasks = {"slow-0": "slow"}
    await scene.submit(tasks)
    await sleeper.hears("stopping")
    await scene.start("supervisor")
    await settled(scene, tasks)
    sleeper.signal(signal.SIGCONT)
    await until(lambda: _are_alive(scene, Role.SUPERVISOR, 2))
    await check(scene, tasks)
    decided = [audit.act for audit in await scene.client.audits("slow-0") if audit.act == "repeat"]
    assert decided == ["repeat"]


async def _are_alive(scene: Scene, role: Role, count: int) -> bool:
    """Whether so many instances of the role live: one that woke up is back under a new id."""
    return len([each for each in await scene.client.instances() if each.alive and each.role is role]) == count


async def _rows(scene: Scene) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for id in TASKS:
        found[id] = [
            await session_of(scene.client).store.client.task(id),
            *await session_of(scene.client).store.client.steps(id),
        ]
    return found
