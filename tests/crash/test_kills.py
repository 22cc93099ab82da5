"""Kills at times that chance chooses, and second deaths during the recovery from a first."""

from __future__ import annotations

import random
import signal

import pytest

from stepward.client import session_of
from tests.crash.conftest import Open
from tests.crash.oracle import settled
from tests.crash.scene import ALL, KILLED, Process, Scene, until

pytestmark = pytest.mark.servers

PAUSES = 3
SEED = 20261121
KINDS = ["order", "refused", "order", "slow:long", "slow:none"]

PAIRS = [
    ("turn.start.after:2", "turn.claim.after"),
    ("turn.finish.after:2", "turn.finish.before"),
    ("agent.call.after:3", "agent.call.after"),
    ("turn.claim.after", "requests.publish.before"),
    ("turn.start_undo.after", "turn.finish_undo.before"),
    ("turn.finish_undo.after:2", "turn.end_undo.before"),
    ("transaction.commit.after", "turn.start.after"),
    ("supervisor.decide.after", "turn.finish.after"),
]
"""A sample of the ordered pairs; the simulation runs them all."""


@pytest.mark.faults
@pytest.mark.timeout(110)
@pytest.mark.parametrize(("store", "kills"), [("sqlite", 21), ("postgresql", 9)])
async def test_random_kills_of_every_role(open_scene: Open, kills: int) -> None:
    """Rows 2-5, 11, 12, 62, 67: kills and 3 pauses while orders come in; then all of them are whole."""
    scene = await open_scene("store")
    chance = random.Random(SEED)
    running = {role: await scene.start(role) for role in ALL}
    tasks: dict[str, str] = {}
    roles = [*ALL] * (kills // len(ALL))
    chance.shuffle(roles)
    for number, role in enumerate(roles):
        await _more(scene, tasks, chance)
        victim = running[role]
        if number % (kills // PAUSES) == 1:
            victim.signal(signal.SIGSTOP)
            await _progress(scene, chance.randrange(3))
            victim.signal(signal.SIGCONT)
        await _progress(scene, chance.randrange(6))
        await victim.kill()
        running[role] = await scene.start(role)
    await settled(scene, tasks, within=60)
    assert len(tasks) >= 3 * kills
    kept = scene.ledger.entries()
    assert len({entry.key for entry in kept}) == len(kept)


@pytest.mark.faults
@pytest.mark.parametrize(("first", "second"), PAIRS)
async def test_a_second_death_during_recovery(open_scene: Open, first: str, second: str) -> None:
    """Row 7: the process that takes over dies too; the third one finishes."""
    scene = await open_scene("local")
    tasks = {"order-0": "order", "refused-0": "refused", "slow-0": "slow", "order-1": "order"}
    await _dies_at(scene, tasks, first)
    await scene.submit(tasks)
    again = await scene.launch(failpoint=second)
    assert await again.dies() in KILLED, again.errors.read_text()[-2000:]
    await scene.start()
    await settled(scene, tasks)


async def _dies_at(scene: Scene, tasks: dict[str, str], failpoint: str) -> None:
    process: Process = await scene.launch(failpoint=failpoint)
    if failpoint.startswith("turn.claim"):
        await until(lambda: _knows_workflows(scene))
        await scene.submit(tasks)
    for id, workflow in tasks.items():
        await process.submit(workflow, id)
    assert await process.dies() in KILLED, process.errors.read_text()[-2000:]


async def _knows_workflows(scene: Scene) -> bool:
    return bool(await session_of(scene.client).store.client.workflows())


async def _more(scene: Scene, tasks: dict[str, str], chance: random.Random) -> None:
    fresh = {f"{chance.getrandbits(60):x}": chance.choice(KINDS) for _ in range(3)}
    tasks |= fresh
    await scene.submit(fresh)


async def _progress(scene: Scene, effects: int) -> None:
    """Let some effects happen, if the others still can bring any about."""
    reached = len(scene.ledger.entries()) + effects

    async def look() -> bool:
        return len(scene.ledger.entries()) >= reached

    try:
        await until(look, within=1.0)
    except TimeoutError:
        return
