"""The users' kit: real actors on a virtual clock, with the faults that a test asks for."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from stepward import Agent, App, Supervision, TaskFailed, Unrecoverable, step, wait_for, workflow
from stepward.errors import DeclarationError, NothingDue, TaskUndone
from stepward.testing import environment

payments = Agent("payments")
parcels = Agent("parcels")


@payments.operation(complete_by="10s")
async def charge(order: str, cents: int) -> str:
    raise AssertionError("the real service was called")


@charge.undo
async def refund(charge_id: str | None, order: str, cents: int) -> None:
    raise AssertionError("the real service was called")


@parcels.operation(complete_by="10s")
async def ship(order: str) -> str:
    if order == "nowhere":
        raise Unrecoverable("no address")
    return f"parcel-{order}"


@workflow(supervision=Supervision(threshold=3, then="undo"))
async def fulfil(order: str, cents: int, wait: int = 0) -> str:
    await charge(order, cents)
    await asyncio.sleep(wait)
    return await ship(order)


@workflow
async def ask(order: str) -> str:
    return str(await wait_for("answer"))


app = App("shop", workflows=[fulfil, ask], agents=[payments, parcels])


@step
def reserve(item: str) -> int:
    return 1


@step(transaction=True)
def book(connection: Any, item: str) -> str:
    raise AssertionError("the database was asked")


@workflow
async def pick(item: str) -> list[Any]:
    return [await reserve(item), await book(item)]


stock = App("stock", workflows=[pick])


async def fake_charge(order: str, cents: int) -> str:
    return f"charge-{order}"


def fake_refund(charge_id: str | None, order: str, cents: int) -> None:
    """Succeed."""


FAKES = {charge: fake_charge, refund: fake_refund}


async def test_a_week_passes_while_a_result_is_awaited() -> None:
    async with environment(app, fakes=FAKES) as env:
        began = env.now()
        task = await env.client.submit(fulfil, "A-1", 4200, 7 * 86_400)

        assert await task.result() == "parcel-A-1"
        assert timedelta(days=7) <= env.now() - began < timedelta(days=7, seconds=2)
        assert [call.args for call in env.calls(charge)] == [("A-1", 4200)]


async def test_skip_lets_what_is_due_happen() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(fulfil, "A-1", 4200, 3 * 86_400)

        await env.skip("2d")
        assert (await task.status()).finished_at is None
        await env.skip("25h")
        assert (await task.status()).state == "processed"


async def test_planned_failures_are_retried_and_then_over() -> None:
    async with environment(app, fakes=FAKES) as env:
        env.fail(charge, times=2)

        task = await env.client.submit(fulfil, "A-1", 4200)

        assert await task.result() == "parcel-A-1"
        calls = env.calls(charge)
        assert len(calls) == 3
        assert len({call.idempotency_key for call in calls}) == 1


async def test_a_refusal_undoes_what_was_done_newest_first() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(fulfil, "nowhere", 4200)

        with pytest.raises(TaskUndone, match="no address"):
            await task.result()
        assert await env.undone(task) == ["payments.charge"]
        assert [call.args for call in env.calls(refund)] == [("charge-nowhere", "nowhere", 4200)]


async def test_a_lost_reply_is_repeated_under_the_same_key() -> None:
    async with environment(app, fakes=FAKES) as env:
        env.lose_reply(charge)

        task = await env.client.submit(fulfil, "A-1", 4200)

        assert await task.result() == "parcel-A-1"
        first, second = env.calls(charge)
        assert first.idempotency_key == second.idempotency_key
        assert second.at - first.at >= 10.0
        assert (first.attempt, second.attempt) == (1, 2)


async def test_another_process_takes_over_after_a_crash_at_once() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(fulfil, "A-1", 4200, 3600)
        await env.skip("10s")

        await env.crash()

        assert await task.result() == "parcel-A-1"
        assert len(env.calls(charge)) == 1


@pytest.mark.parametrize("at", ["agent.call.after", "turn.finish.before", "turn.finish.after", "turn.claim.before"])
async def test_another_process_takes_over_after_a_crash_at_a_failpoint(at: str) -> None:
    async with environment(app, fakes=FAKES) as env:
        crashing = asyncio.create_task(env.crash(at=at))
        await asyncio.sleep(0)
        task = await env.client.submit(fulfil, "A-1", 4200)
        await crashing

        assert await task.result() == "parcel-A-1"
        assert len({call.idempotency_key for call in env.calls(charge)}) == 1


@pytest.mark.parametrize("at", ["agent.call.before", "turn.finish.after"])
async def test_workflow_code_of_a_process_that_died_is_closed_and_decides_nothing(at: str) -> None:
    left: list[str] = []

    @workflow
    async def leaving(order: str) -> str:
        try:
            return await ship(order) + await ship(order)
        finally:
            left.append(order)

    async with environment(App("shop", workflows=[leaving], agents=[parcels])) as env:
        task = await env.client.submit(leaving, "A-1")
        await env.crash(at=at)
        assert left == ["A-1"]
        assert await task.result() == "parcel-A-1parcel-A-1"


async def test_a_crash_point_that_is_not_passed_is_refused() -> None:
    async with environment(app, fakes=FAKES) as env:
        with pytest.raises(DeclarationError, match=r"turn\.never"):
            await env.crash(at="turn.never")


async def test_a_wait_for_what_never_comes_names_the_task_and_what_it_waits_for() -> None:
    with pytest.raises(NothingDue, match=r"Q-1 \(waiting, waits for signal answer\)"):
        async with environment(app) as env:
            task = await env.client.submit(ask, "Q-1", id="Q-1")
            await task.result()


async def test_a_signal_ends_the_wait() -> None:
    async with environment(app) as env:
        task = await env.client.submit(ask, "Q-1")
        await task.signal("answer", "yes")
        assert await task.result() == "yes"


async def test_one_seed_gives_one_run() -> None:
    async def run() -> list[tuple[str, float]]:
        async with environment(app, fakes=FAKES, seed=7) as env:
            env.fail(charge, times=2)
            task = await env.client.submit(fulfil, "A-1", 4200)
            await task.result()
            return [(call.idempotency_key, call.at) for call in env.calls(charge)]

    assert await run() == await run()


async def test_the_loop_has_its_own_time_again_afterwards() -> None:
    loop = asyncio.get_running_loop()
    before = loop.time()
    async with environment(app) as env:
        await env.skip("30d")
    assert loop.time() - before < 60.0


async def test_a_fake_of_another_applications_operation_is_refused() -> None:
    @Agent("mail").operation
    async def send() -> None: ...

    with pytest.raises(DeclarationError, match=r"payments\.charge"):
        async with environment(app, fakes={send: fake_charge}):
            pass


@pytest.mark.parametrize("times", [0, -1, True, 1.5])
async def test_a_number_of_times_that_cannot_be_is_refused(times: int) -> None:
    async with environment(app) as env:
        with pytest.raises(DeclarationError, match="from 1 to"):
            env.fail(charge, times=times)


async def test_a_local_step_is_faked_and_its_calls_are_recorded() -> None:
    async with environment(stock, fakes={reserve: lambda item: 7, book: lambda connection, item: "booked"}) as env:
        task = await env.client.submit(pick, "lamp")
        assert await task.result() == [7, "booked"]
        assert [call.args for call in env.calls(reserve)] == [("lamp",)]
        assert [call.args for call in env.calls(book)] == [("lamp",)]
    assert reserve.fn("lamp") == 1


async def test_a_local_step_that_is_its_own_fake_is_recorded_and_fails_on_demand() -> None:
    async with environment(stock, fakes={reserve: reserve, book: lambda connection, item: "booked"}) as env:
        env.fail(reserve, error=Unrecoverable("none left"))
        task = await env.client.submit(pick, "lamp")
        with pytest.raises(TaskFailed, match="none left"):
            await task.result()
        assert len(env.calls(reserve)) == 1


async def test_a_local_step_that_is_no_fake_cannot_be_watched_and_none_loses_a_reply() -> None:
    async with environment(stock, fakes={reserve: reserve}) as env:
        with pytest.raises(DeclarationError, match="expected a local step that is among the fakes, found <transaction"):
            env.calls(book)
        with pytest.raises(DeclarationError, match="expected an operation or an undo, found <local"):
            env.lose_reply(reserve)
