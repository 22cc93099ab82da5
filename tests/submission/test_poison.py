"""A message that ends the process each time: it alone is counted, and its neighbours are accepted."""

from __future__ import annotations

import asyncio

from stepward import Message
from stepward.store.contract import Transaction
from tests.submission.world import ALONE, LEASE, World

MOST_DEATHS = 20


class Life:
    """The lives of a submission process that ends, as if killed, whenever it looks at a poisonous message."""

    def __init__(self, world: World, *poison: str) -> None:
        self._world = world
        self.deaths = 0
        self._died = asyncio.Event()
        world.desk.plans |= dict.fromkeys(poison, self._die)

    async def until_death(self) -> bool:
        """Live on until that message or the end of the queue; whether it was the message. Then a lease goes by."""
        self._died.clear()
        # Without any grace what is under way is broken off, as by a kill: rolled back, and not acknowledged.
        async with self._world.app(drain=0).running(**ALONE):
            dying = asyncio.create_task(self._died.wait())
            emptied = asyncio.create_task(self._world.emptied())
            await asyncio.wait({dying, emptied}, return_when=asyncio.FIRST_COMPLETED)
            dying.cancel()
            emptied.cancel()
        await asyncio.sleep(LEASE)
        self.deaths += self._died.is_set()
        assert self.deaths <= MOST_DEATHS
        return self._died.is_set()

    async def _die(self, message: Message, transaction: Transaction) -> None:
        self._died.set()
        await asyncio.Event().wait()


async def test_poison_is_buried_after_five_deaths_and_its_neighbours_are_accepted(world: World) -> None:
    life = Life(world, "poison")
    before, after = [f"b-{n}" for n in range(10)], [f"a-{n}" for n in range(10)]
    await world.post(*before, "poison", *after)
    while await life.until_death():
        await world.post(f"fresh-{life.deaths}")
    assert life.deaths == 5
    (letter,) = await world.client.dead_letters()
    assert letter.reason == "message 'poison': taken 5 times, and each time the process ended"
    fresh = [f"fresh-{n}" for n in range(1, 6)]
    assert sorted(await world.both()) == sorted([*before, *after, *fresh])
    assert world.desk.tries("poison") == [1, 2, 3, 4, 5]
    assert max(tries for id, tries, _ in world.desk.calls if id != "poison") == 2


async def test_several_poison_messages_are_separated_from_the_others(world: World) -> None:
    poison = [f"poison-{n}" for n in range(3)]
    life = Life(world, *poison)
    await world.post("a", poison[0], "b", poison[1], "c", poison[2], "d")
    while await life.until_death():
        continue
    assert life.deaths == 13, "they came together once, and four times each alone"
    assert sorted(await world.both()) == ["a", "b", "c", "d"]
    assert len(await world.client.dead_letters()) == 3


async def test_poison_that_an_operator_puts_back_is_accepted_when_it_is_none_any_more(world: World) -> None:
    life = Life(world, "poison")
    await world.post("poison", "after")
    while await life.until_death():
        continue
    (letter,) = await world.client.dead_letters()
    world.desk.plans.clear()
    await world.client.put_back(letter.number)
    assert not await life.until_death()
    assert await world.both() == ["after", "poison"]
