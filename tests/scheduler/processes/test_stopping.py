"""A process ends in good order, whatever an Agent's own code or an actor does meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

import pytest

from stepward import Agent, App
from stepward.running import Running
from stepward.scheduler.draining import Draining
from tests.scheduler.world import World


class Raising(Agent):
    """Fails to let go."""

    async def close(self) -> None:
        raise OSError("already gone")


class Cancelled(Agent):
    """Waits for what it has cancelled itself."""

    async def close(self) -> None:
        keeper = asyncio.create_task(asyncio.Event().wait())
        keeper.cancel()
        await keeper


class Hanging(Agent):
    """Never lets go."""

    async def close(self) -> None:
        await asyncio.Event().wait()


async def left_of(world: World, app: App, *, raises: type[Exception] | None = None) -> list[str]:
    """The asyncio tasks and leases that are left once the application was stopped."""
    before = asyncio.all_tasks()
    with pytest.raises(raises) if raises is not None else nullcontext():
        async with app.running():
            pass
    left = [task.get_name() for task in asyncio.all_tasks() - before]
    client = await world.client(app)
    return left + [instance.id for instance in await client.instances() if instance.alive]


@pytest.mark.parametrize(
    ("kind", "error"),
    [(Raising, "OSError('already gone')"), (Cancelled, "CancelledError"), (Hanging, "expected it to close within 3 s")],
)
async def test_an_agent_that_does_not_close_holds_up_no_other(world: World, kind: type[Agent], error: str) -> None:
    app = world.app([], [kind("odd"), Agent("other")])
    async with asyncio.timeout(30):
        assert await left_of(world, app) == []
    (told,) = world.told("agent.close_failed")
    assert (told["agent"], error in told["error"]) == ("odd", True)


async def test_all_is_let_go_of_also_where_the_end_itself_fails(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Running] = []
    close = Running.close

    async def broken(self: Draining) -> None:
        raise ZeroDivisionError("a bug")

    async def closing(self: Running) -> None:
        closed.append(self)
        await close(self)

    monkeypatch.setattr(Draining, "settle", broken)
    monkeypatch.setattr(Running, "close", closing)
    assert await left_of(world, world.app([], [Agent("one")]), raises=ZeroDivisionError) == []
    assert len(closed) == 1
