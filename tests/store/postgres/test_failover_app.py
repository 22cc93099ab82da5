"""An application at work while its primary fails: every task ends, each effect once, and no deadline is cut short."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from stepward import Agent, App, Client, Supervision, TaskHandle, current_step, workflow
from stepward.clock import Environment, no_failpoint
from stepward.errors import StoreError
from stepward.model.records import Role
from stepward.store.postgres import store as store_module
from stepward.store.postgres.engine.clock import StoreClock
from tests.store.postgres.pairs import Stage
from tests.store.postgres.proxy import proxy
from tests.tiers import sampled

pytestmark = pytest.mark.servers

SETTINGS: dict[str, Any] = {"lease": "2s", "supervisor_every": "50ms", "poll": "100ms"}
TASKS = 12
STEPS = 4
WITHIN = 120.0


class Ledger:
    """What a service remembers: an effect is had once for each key, however often it is asked for."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.effects: list[tuple[str, int]] = []
        self.more = asyncio.Event()

    def book(self, key: str, what: str, number: int) -> None:
        self.asked[key] += 1
        if self.asked[key] == 1:
            self.effects.append((what, number))
        self.more.set()

    async def reaches(self, count: int) -> None:
        async with asyncio.timeout(WITHIN):
            while len(self.effects) < count:
                self.more.clear()
                await self.more.wait()


def application(address: str, ledger: Ledger, failpoint: Callable[[str], None] = no_failpoint, **settings: str) -> App:
    """Tasks of several steps, one after the other, at one Agent that takes a few at a time."""
    desk = Agent("desk", concurrency=4)

    @desk.operation(complete_by="30s")
    async def book(what: str, number: int) -> int:
        ledger.book(current_step().idempotency_key, what, number)
        await asyncio.sleep(0.01)
        return number

    @workflow(supervision=Supervision(threshold=9))
    async def journey(what: str) -> list[int]:
        return [await book(what, number) for number in range(STEPS)]

    environment = Environment(failpoint=failpoint)
    given = SETTINGS | settings
    return App("shop", workflows=[journey], agents=[desk], store=address, environment=environment, **given)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


async def test_tasks_in_flight_end_across_a_failover_with_each_effect_once(stage: Stage, ledger: Ledger) -> None:
    app = application(stage.address, ledger)
    async with app.running(), app.client() as client:
        handles = [await client.submit("journey", f"j{number}", id=f"j{number}") for number in range(TASKS)]
        await ledger.reaches(TASKS)
        await stage.fail_over()
        assert [await _result(handle) for handle in handles] == [list(range(STEPS))] * TASKS
        async with asyncio.timeout(WITHIN):
            while not {Role.SCHEDULER, Role.SUPERVISOR, Role.AGENT} <= await _alive(client):
                pass
    assert len(ledger.effects) == TASKS * STEPS
    assert set(ledger.effects) == {(f"j{task}", step) for task in range(TASKS) for step in range(STEPS)}


@pytest.mark.parametrize("arrived", [True, False])
async def test_a_scheduler_whose_commit_was_lost_in_the_failover_starts_over(
    stage: Stage, ledger: Ledger, arrived: bool
) -> None:
    async with proxy(stage.pair.primary.port) as first, proxy(stage.pair.standby.port) as second:
        held = asyncio.Event()

        def hold(name: str) -> None:
            if name == "turn.finish.before" and len(ledger.effects) == 3 and not held.is_set():
                (first.outcomes if arrived else first.questions).clear()
                held.set()

        hosts = f"127.0.0.1:{first.port},127.0.0.1:{second.port}"
        app = application(f"postgresql://postgres@{hosts}/{stage.name}", ledger, hold)
        told: list[str] = []
        app.observers.add(lambda event: told.append(event.name))
        async with app.running(), app.client() as client:
            handle = await client.submit("journey", "j", id="j")
            async with asyncio.timeout(WITHIN):
                await held.wait()
            if arrived:
                await stage.until("select 1 from stepward_shop.step where state = 'completed'", 3)
            await stage.fail_over()
            first.cut()
            first.open()
            assert await _result(handle) == list(range(STEPS))
    assert "scheduler.fenced" in told
    assert ledger.effects == [("j", number) for number in range(STEPS)]


# What is due comes later by as much as the new clock is behind: that is waited for here.
@pytest.mark.parametrize("shift", sampled((300.0, -20.0), 300.0))
async def test_a_new_primary_with_another_clock_cuts_no_lease_and_no_deadline_short(
    stage: Stage, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, shift: float
) -> None:
    monkeypatch.setattr(store_module, "StoreClock", ShiftedClock)
    monkeypatch.setattr(ShiftedClock, "shift", 0.0)
    # A busy machine takes its time to connect again: what is asked is what the clock does, not how fast that is.
    app, beside = (application(stage.address, ledger, lease="8s") for _ in range(2))
    fenced: list[Role] = []
    for each in (app, beside):
        each.observers.add(
            lambda event: fenced.append(event.fields["role"]) if event.name == "instance.fenced" else None
        )
    async with app.running(), beside.running(), app.client() as client:
        handles = [await client.submit("journey", f"j{number}", id=f"j{number}") for number in range(TASKS)]
        await ledger.reaches(TASKS)
        # No process may see the new server before its clock is changed.
        await stage.fail_over(lambda: monkeypatch.setattr(ShiftedClock, "shift", shift))
        assert [await _result(handle) for handle in handles] == [list(range(STEPS))] * TASKS
        assert await client.alerts() == []
    # A Scheduler that starts over may not have found the store to take its leave from.
    assert set(fenced) <= {Role.SCHEDULER}
    assert len(ledger.effects) == TASKS * STEPS


class ShiftedClock(StoreClock):
    """A server's clock, of which another server that takes over shows another time."""

    shift = 0.0

    def heard(self, server: float, sent: float) -> None:
        super().heard(server + ShiftedClock.shift, sent)


async def _result(handle: TaskHandle) -> Any:
    """The result, asked for again while the store is away."""
    async with asyncio.timeout(WITHIN):
        while True:
            try:
                return await handle.result(timeout=WITHIN)
            except StoreError:
                await asyncio.sleep(0.05)


async def _alive(client: Client) -> set[Role]:
    return {instance.role for instance in await client.instances() if instance.alive}
