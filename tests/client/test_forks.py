"""Forks: an ended task run again from any of its steps, as a new task with the record up to there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stepward import (
    Agent,
    App,
    Given,
    IllegalTransition,
    Pipeline,
    Refused,
    Stage,
    Supervision,
    TaskConflict,
    TaskFailed,
    Unrecoverable,
    continue_as_new,
    now,
    random,
    uuid4,
    wait_for,
    workflow,
)
from stepward.client import session_of
from stepward.errors import InvalidArguments, UnknownWorkflow
from stepward.model.states import TaskState
from stepward.model.tasks.stopped_tasks import WAITS_FOR
from stepward.testing import environment
from stepward.testing.app_environment import AppEnvironment

shop = Agent("shop")


@shop.operation(complete_by="10s")
async def reserve(item: str) -> str:
    return f"{item} reserved"


@reserve.undo
async def release(result: str | None, item: str) -> None: ...


@shop.operation(complete_by="10s")
async def charge(item: str, amount: float) -> float:
    return amount


@charge.undo
async def refund(result: float | None, item: str, amount: float) -> None: ...


@shop.operation(complete_by="10s")
async def ship(item: str) -> str:
    return f"{item} shipped"


@ship.undo
async def fetch_back(result: str | None, item: str) -> None: ...


@shop.operation(complete_by="10s", irreversible=True)
async def seal(item: str) -> None: ...


quick = Supervision(threshold=0)


@workflow(supervision=quick)
async def buy(item: str) -> list[Any]:
    began, chance, token = now().isoformat(), random(), str(uuid4())
    await reserve(item)
    paid = await charge(item, round(chance, 3))
    sent = await ship(item)
    return [began, chance, token, paid, sent]


@workflow(name="buy", version="2", supervision=quick)
async def buy_with_gift(item: str) -> list[Any]:
    began, chance, token = now().isoformat(), random(), str(uuid4())
    await reserve(item)
    paid = await charge(item, round(chance, 3))
    return [began, chance, token, paid, await ship("gift"), await ship(item)]


@workflow(supervision=quick)
async def many(items: list[str]) -> list[str]:
    found = await asyncio.gather(*(reserve(item) for item in items))
    approval = await wait_for("approved")
    return [*found, approval, await ship(items[0])]


@workflow(supervision=quick)
async def child_of(item: str) -> str:
    return await reserve(item)


@workflow(supervision=quick)
async def parent(items: list[str]) -> list[str]:
    found = [await child_of(item) for item in items]
    return [*found, await ship(items[0])]


@workflow(supervision=quick)
async def sealing(item: str) -> None:
    await reserve(item)
    await seal(item)


@workflow(supervision=quick)
async def in_runs(count: int) -> list[str]:
    began = now().isoformat()
    reserved = await reserve(str(count))
    if count < 3:
        continue_as_new(count + 1)
    return [began, reserved, await ship("last")]


plan = Pipeline(
    "plan",
    {
        "reserve": Stage(reserve, Given("item")),
        "charge": Stage(charge, Given("item"), Given("amount"), after=["reserve"]),
        "ship": Stage(ship, Given("item"), after=["charge"]),
    },
    given={"item": str, "amount": float},
)


app = App("shop", workflows=[buy, buy_with_gift, many, child_of, parent, sealing, in_runs, plan], agents=[shop])
FAKES = {each: each.fn for each in (reserve, charge, ship, seal, release, refund, fetch_back)}


def keys(env: AppEnvironment) -> set[str]:
    return {call.idempotency_key for each in (reserve, charge, ship) for call in env.calls(each)}


async def test_a_fork_goes_on_from_its_step_with_the_record_before_it() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(buy, "pen", id="t")
        result = await task.result()
        await env.skip("3d")
        fork = await task.fork("shop.ship/1", id="again")
        assert (fork.id, await fork.result()) == ("again", result)
        assert len(env.calls(charge)) == 1
        assert [call.args for call in env.calls(ship)] == [("pen",), ("pen",)]
        assert len(keys(env)) == 4
        assert (await fork.status()).state is TaskState.PROCESSED
        assert await task.result() == result


async def test_a_fork_from_the_first_step_does_everything_again() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(buy, "pen")
        result = await task.result()
        assert await (await task.fork("shop.reserve/1")).result() == result
        assert [len(env.calls(each)) for each in (reserve, charge, ship)] == [2, 2, 2]
        assert len(keys(env)) == 6


@pytest.mark.parametrize("point", ["turn.start.before", "turn.start.after", "turn.finish.before", "turn.finish.after"])
async def test_a_fork_survives_a_takeover(point: str) -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(buy, "pen")
        result = await task.result()
        fork = await task.fork("shop.charge/1")
        await env.crash(at=point)
        assert await fork.result() == result


async def test_a_fork_of_a_fork_draws_as_the_first_task_did() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(buy, "pen")
        result = await task.result()
        second = await task.fork("shop.charge/1")
        await second.result()
        third = await second.fork("shop.ship/1")
        assert await third.result() == result
        assert [len(env.calls(each)) for each in (reserve, charge, ship)] == [1, 2, 3]


async def test_a_fork_runs_with_another_version_and_other_arguments() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(buy, "pen")
        await task.result()
        fork = await task.fork("shop.ship/1", version="2", args=["book"])
        assert (await fork.result())[-2:] == ["gift shipped", "book shipped"]
        assert (await fork.status()).version == "2"
        assert len(env.calls(reserve)) == 1


async def test_a_fork_of_a_failed_task_goes_on() -> None:
    async with environment(app, fakes=FAKES) as env:
        env.fail(ship, error=Unrecoverable("no parcel"))
        task = await env.client.submit(buy, "pen")
        with pytest.raises(TaskFailed):
            await task.result()
        assert (await (await task.fork("shop.ship/1")).result())[-1] == "pen shipped"
        assert (await task.status()).state is TaskState.ERROR


async def test_later_effects_are_kept_or_undone_first() -> None:
    undone: list[str] = []
    fakes = {refund: lambda *_: undone.append("charge"), fetch_back: lambda *_: undone.append("ship")}
    async with environment(app, fakes=FAKES | fakes) as env:
        task = await env.client.submit(buy, "pen", id="t")
        await task.result()
        await (await task.fork("shop.charge/1")).result()
        assert undone == []
        fork = await task.fork("shop.charge/1", undo_later=True)
        await fork.result()
        assert undone == ["ship", "charge"]
        assert [call.args[1:] for call in env.calls(refund)] == [call.args for call in env.calls(charge)][:1]
        assert [len(env.calls(each)) for each in (charge, ship, release)] == [3, 3, 0]
        await task.undo()
        await env.skip("1m")
        assert (await task.status()).state is TaskState.UNDONE
        assert [len(env.calls(each)) for each in (release, refund, fetch_back)] == [1, 1, 1]


async def test_the_undo_of_a_fork_leaves_what_its_origin_did() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(buy, "pen")
        await task.result()
        fork = await task.fork("shop.ship/1")
        await fork.result()
        await fork.undo()
        await env.skip("1m")
        assert (await fork.status()).state is TaskState.UNDONE
        assert [len(env.calls(each)) for each in (release, refund, fetch_back)] == [0, 0, 1]


async def test_steps_side_by_side_and_signals_before_the_step_are_taken_over() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(many, ["a", "b", "c"])
        await task.signal("approved", "yes")
        assert await task.result() == ["a reserved", "b reserved", "c reserved", "yes", "a shipped"]
        assert (await (await task.fork("shop.ship/1")).result())[3] == "yes"
        assert len(env.calls(reserve)) == 3
        again = await task.fork("shop.reserve/2")
        await again.signal("approved", "later")
        assert await again.result() == ["a reserved", "b reserved", "c reserved", "later", "a shipped"]
        assert [call.args for call in env.calls(reserve)][3:] == [("b",), ("c",)]


async def test_children_that_ended_are_taken_over_and_later_ones_are_new() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(parent, ["a", "b"], id="t")
        result = await task.result()
        fork = await task.fork("child_of/2", id="f")
        assert await fork.result() == result
        children = {each.id for each in await env.client.tasks(workflow="child_of")}
        assert children == {"t/child_of/1", "t/child_of/2", "f/child_of/2"}
        with pytest.raises(IllegalTransition, match="expected later steps that this undoes first, found child_of/2"):
            await task.fork("child_of/2", undo_later=True)


async def test_the_last_of_several_runs_is_forked() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(in_runs, 1, id="t")
        result = await task.result()
        assert await (await task.fork("shop.ship/1")).result() == result
        assert [len(env.calls(each)) for each in (reserve, ship)] == [3, 2]
        again = await task.fork("shop.reserve/1", id="f")
        assert await again.result() == result
        assert (await again.status()).run == 3


async def test_a_pipeline_goes_on_from_a_stage() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(plan, item="pen", amount=2.5)
        await task.result()
        fork = await task.fork("shop.charge/1", id="f")
        assert [(step.key, step.state) for step in await fork.steps()][1:] == [
            ("shop.reserve/1", "completed"),
            ("shop.charge/1", "not_started"),
            ("shop.ship/1", "not_started"),
        ]
        await fork.result()
        assert [len(env.calls(each)) for each in (reserve, charge, ship)] == [1, 2, 2]


async def test_what_cannot_be_forked_is_refused() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(buy, "pen", id="t")
        waiting = await env.client.submit(many, ["a"], id="w")
        await task.result()
        with pytest.raises(IllegalTransition, match="fork of task w: expected a task that has ended"):
            await waiting.fork("shop.reserve/1")
        with pytest.raises(IllegalTransition, match=r"expected a step 'shop.shp/1' .* did you mean shop.ship/1"):
            await task.fork("shop.shp/1")
        with pytest.raises(UnknownWorkflow, match="workflow buy@7: expected a registered version"):
            await task.fork("shop.ship/1", version="7")
        with pytest.raises(InvalidArguments):
            await task.fork("shop.ship/1", args=["a", "b"])
        with pytest.raises(TaskConflict):
            await task.fork("shop.ship/1", id="w")
        sealed = await env.client.submit(sealing, "pen")
        await sealed.result()
        with pytest.raises(IllegalTransition, match=r"found shop\.seal/1, child tasks or irreversible"):
            await sealed.fork("shop.reserve/1", undo_later=True)
        await task.undo()
        await env.skip("1m")
        with pytest.raises(
            IllegalTransition, match=r"expected the steps before it to stand, found shop\.reserve/1 undone"
        ):
            await task.fork("shop.ship/1")
        assert (await (await task.fork("shop.reserve/1")).result())[-1] == "pen shipped"


async def test_later_effects_are_undone_by_one_of_several_forks_at_one_time() -> None:
    async with environment(app, fakes=FAKES) as env:

        async def write() -> None:
            for _ in range(10):
                await env.client.submit(buy, "another", delay="1d")

        task = await env.client.submit(buy, "pen")
        await task.result()
        # Beside others that write, a fork waits for its turn between its last read and its commit.
        forks = [task.fork("shop.ship/1", undo_later=True) for _ in range(3)]
        made = await asyncio.gather(write(), write(), *forks, return_exceptions=True)
        refused = [each for each in made if isinstance(each, BaseException)]
        assert [type(each) for each in refused] == [IllegalTransition] * 2
        assert "expected later steps that no other fork undoes, found shop.ship/1 undone by one" in str(refused[0])
        await env.skip("1m")
        assert [len(env.calls(each)) for each in (ship, fetch_back)] == [2, 1]


async def test_an_id_of_another_task_or_fork_is_refused() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(buy, "pen", id="t")
        await (await env.client.submit(buy, "pen", id="plain")).result()
        await task.result()
        await task.fork("shop.ship/1", id="f")
        assert (await task.fork("shop.ship/1", id="f")).id == "f"
        for id in ("f", "plain", "t"):
            with pytest.raises(TaskConflict, match="found another task or fork; choose another id"):
                await task.fork("shop.charge/1", id=id)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"from_step": 5}, "from_step: expected a text, found 5"),
        ({"from_step": None}, "from_step: expected the key of a step, found None"),
        ({"version": 2}, "version: expected a text, found 2"),
        ({"args": "pen"}, "args: expected a list of the workflow's arguments, found 'pen'"),
        ({"args": 5}, "args: expected a list of the workflow's arguments, found 5"),
        ({"undo_later": "no"}, "undo_later: expected True or False, found 'no'"),
    ],
)
async def test_options_of_other_types_are_refused(given: dict[str, Any], message: str) -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(buy, "pen")
        await task.result()
        with pytest.raises(Refused, match=message):
            await task.fork(**{"from_step": "shop.ship/1"} | given)


async def test_other_arguments_that_do_not_fit_the_record_stop_the_fork() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(many, ["a", "b"])
        await task.signal("approved", "yes")
        await task.result()
        fork = await task.fork("shop.ship/1", args=[["a", "b", "c"]])
        await env.skip("1m")
        assert (await fork.status()).waits_for == WAITS_FOR
        assert len(env.calls(reserve)) == 2
        await fork.cancel()


def test_a_blocking_client_forks(tmp_path: Path) -> None:
    alone = App("shop", workflows=[child_of], agents=[shop], store=f"sqlite:///{tmp_path / 'shop.db'}")
    with alone.sync_client() as client:
        task = client.submit(child_of, "pen", id="t")

        async def run() -> None:
            async with alone.running():
                await asyncio.to_thread(task.result, 30)
                fork = await asyncio.to_thread(task.fork, "shop.reserve/1", id="f")
                assert (fork.id, await asyncio.to_thread(fork.result, 30)) == ("f", "pen reserved")

        asyncio.run(run())


async def test_both_tasks_name_each_other_in_the_audit() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(buy, "pen", id="t")
        await task.result()
        for _ in range(2):
            fork = await task.fork("shop.ship/1", id="f", undo_later=True)
            await fork.result()
        client = session_of(env.client).store.operators
        of_origin, of_fork = await client.audits("t", 9), await client.audits("f", 9)
        assert [(each.act, each.step) for each in (*of_origin, *of_fork)] == [("fork", "shop.ship/1")] * 2
        assert b'"fork":"f"' in of_origin[0].details and b'"undo_first":["shop.ship/1"]' in of_origin[0].details
        assert b'"origin":"t"' in of_fork[0].details
