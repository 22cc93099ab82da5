"""The submission process dies, sleeps or gets SIGTERM at each of its points, and every message comes twice and more:
as many orders as messages, as many tasks as orders."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter

import pytest

from tests.crash.application import LEASE
from tests.crash.conftest import Open
from tests.crash.oracle import settled
from tests.crash.scene import KILLED, Scene, until
from tests.tiers import sampled

pytestmark = pytest.mark.servers

MESSAGES = {
    **{f"order-{number}": "order" for number in range(6)},
    **{f"refused-{number}": "refused" for number in range(2)},
}
WAYS = [
    "submission.take.after",
    "submission.commit.before",
    "submission.commit.before>store.commit.before",
    "submission.commit.before>store.commit.after",
    "submission.commit.after",
    "submission.acknowledge.before",
    "submission.acknowledge.before>store.commit.before",
    "submission.acknowledge.before>store.commit.after",
    "submission.acknowledge.after",
]
ON_POSTGRESQL = [
    "submission.commit.before>store.commit.before",
    "submission.commit.before>store.commit.after",
    "submission.acknowledge.after",
]
KILLS = 12
SEED = 20261121


@pytest.mark.parametrize(
    ("store", "way"),
    sampled(
        [*(("sqlite", way) for way in WAYS), *(("postgresql", way) for way in ON_POSTGRESQL)],
        ("sqlite", "submission.commit.after"),
    ),
)
async def test_a_submission_process_dies_and_another_takes_over(open_scene: Open, way: str) -> None:
    """No message is lost by the death, and no task doubled by messages that come twice, or again when all is done."""
    scene = await open_scene("local")
    await scene.start()
    await scene.post(MESSAGES)
    await scene.post(MESSAGES)
    first = await scene.launch("submission", way=way)
    assert await first.dies() in KILLED, first.errors.read_text()[-2000:]
    await scene.start("submission")
    await scene.emptied()
    assert Counter(await scene.placed()) == Counter(list(MESSAGES))
    await scene.post(MESSAGES)
    await _as_many_orders_as_messages(scene, MESSAGES)


@pytest.mark.faults
@pytest.mark.timeout(110)
async def test_random_kills_while_messages_come_in(open_scene: Open) -> None:
    scene = await open_scene("local")
    await scene.start()
    chance = random.Random(SEED)
    messages: dict[str, str] = {}
    submission = await scene.start("submission")
    for _ in range(KILLS):
        fresh = {f"{chance.getrandbits(60):x}": "order" for _ in range(4)}
        messages |= fresh
        posting = asyncio.create_task(_post_and_again(scene, fresh, messages, chance))
        await _accepted(scene, len(messages) - chance.randrange(5))
        await submission.kill()
        await posting
        submission = await scene.start("submission")
    await _as_many_orders_as_messages(scene, messages)


@pytest.mark.faults
@pytest.mark.parametrize(
    "point",
    [
        "submission.take.after",
        "submission.commit.after",
        "submission.acknowledge.before",
        "submission.acknowledge.after",
    ],
)
async def test_a_submission_process_that_slept_past_its_leases_changes_nothing(open_scene: Open, point: str) -> None:
    """Another accepts what it holds; when it wakes up it finds all of it done, and goes on under a new id."""
    scene = await open_scene("local")
    await scene.start()
    await scene.post(MESSAGES)
    sleeper = await scene.launch("submission", stop=point)
    await sleeper.hears("stopping")
    await scene.start("submission")
    await scene.emptied()
    await until(lambda: _is_fenced(scene))
    sleeper.signal(signal.SIGCONT)
    await until(lambda: _are_alive(scene, 2))
    await scene.post({**MESSAGES, "later": "order"})
    await _as_many_orders_as_messages(scene, {**MESSAGES, "later": "order"})
    assert sleeper.is_alive


@pytest.mark.faults
async def test_a_submission_process_that_slept_within_its_transaction_goes_on(open_scene: Open) -> None:
    """It keeps the file's one write lock: all others wait, and nothing is done twice."""
    scene = await open_scene("local")
    await scene.post(MESSAGES)
    sleeper = await scene.launch("submission", stop="submission.commit.before")
    await sleeper.hears("stopping")
    # A process that starts now waits for the file, for longer than the leases are.
    other = await scene.launch("submission")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2 * LEASE):
            await other.hears("ready")
    sleeper.signal(signal.SIGCONT)
    await other.hears("ready")
    await scene.start()
    await _as_many_orders_as_messages(scene, MESSAGES)
    assert sleeper.is_alive


async def test_a_submission_process_that_gets_sigterm_leaves_nothing_half_done(open_scene: Open) -> None:
    scene = await open_scene("local")
    await scene.start()
    first = await scene.start("submission")
    posting = asyncio.create_task(scene.post(MESSAGES))
    await _accepted(scene, 1)
    first.signal(signal.SIGTERM)
    await first.hears("stopped")
    assert await first.dies() == 0
    await posting
    assert Counter(await scene.placed()) == Counter(task.id for task in await scene.client.tasks())
    assert not await _are_alive(scene, 1)
    await scene.start("submission")
    await _as_many_orders_as_messages(scene, MESSAGES)


async def test_poison_kills_five_processes_and_no_neighbour(open_scene: Open) -> None:
    scene = await open_scene("local")
    await scene.start()
    await scene.post({"order-0": "order", "poison": "poison", "order-1": "order", "order-2": "order"})
    for _ in range(5):
        victim = await scene.launch("submission")
        assert await victim.dies() in KILLED, victim.errors.read_text()[-2000:]
    await scene.start("submission")
    await scene.emptied()
    (letter,) = await scene.client.dead_letters()
    assert letter.reason == "message 'poison': taken 5 times, and each time the process ended"
    await _as_many_orders_as_messages(scene, {f"order-{n}": "order" for n in range(3)}, letters=1)


async def _as_many_orders_as_messages(scene: Scene, messages: dict[str, str], *, letters: int = 0) -> None:
    await scene.emptied()
    await settled(scene, messages)
    assert Counter(await scene.placed()) == Counter(list(messages))
    assert len(await scene.client.dead_letters()) == letters


async def _post_and_again(scene: Scene, fresh: dict[str, str], messages: dict[str, str], chance: random.Random) -> None:
    await scene.post(fresh)
    await scene.post({id: messages[id] for id in chance.sample(sorted(messages), len(fresh))})


async def _accepted(scene: Scene, count: int) -> None:
    """Wait until so many messages were accepted."""

    async def look() -> bool:
        return len(await scene.placed()) >= count

    await until(look)


async def _is_fenced(scene: Scene) -> bool:
    return any(not each.alive for each in await scene.client.instances() if each.role == "submission")


async def _are_alive(scene: Scene, count: int) -> bool:
    return sum(each.alive for each in await scene.client.instances() if each.role == "submission") >= count
