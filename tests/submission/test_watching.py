"""A response queue that is watched over its reader's shoulder: everything is seen, and nothing is settled."""

from __future__ import annotations

from stepward import StatusEvent
from stepward.client import session_of
from stepward.client.queues.events import StatusEvents
from tests.submission.world import World

REPLIES = "replies.shop.web"
LAST = "stepward.task.completed"


async def until_last(events: StatusEvents) -> list[StatusEvent]:
    """The status events up to the end of the first task that ends."""
    told = []
    async for event in events:
        told.append(event)
        if event.type == LAST:
            break
    return told


async def test_an_observer_sees_what_the_reader_will_read(world: World) -> None:
    await world.run(scheduler=True)
    await world.post("A-1", reply_to=REPLIES)
    seen = await until_last(world.queues.watch(REPLIES))
    assert [event.sequence for event in seen] == [1, 2, 3]
    assert await until_last(world.queues.watch(REPLIES)) == seen
    assert await until_last(world.queues.events(REPLIES)) == seen


async def test_an_observer_continues_with_later_events(world: World) -> None:
    await world.run(scheduler=True)
    watched = world.queues.watch(REPLIES)
    for id in ("A-1", "A-2"):
        await world.post(id, reply_to=REPLIES)
        assert {event.subject for event in await until_last(watched)} == {id}
    assert len(world.rows("select 1 from stepward_message where queue = ?", REPLIES)) == 6


async def test_an_observer_makes_no_dead_letters(world: World) -> None:
    await session_of(world.client).store.messages.put(REPLIES, [(b"no event", None)])
    await world.run(scheduler=True)
    await world.post("A-1", reply_to=REPLIES)
    assert len(await until_last(world.queues.watch(REPLIES))) == 3
    assert await world.client.dead_letters() == []
