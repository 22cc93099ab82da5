"""Updates from a client: validated, applied once, answered once, over crashes, replays, runs and ends of the task."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from stepward import (
    Agent,
    App,
    IllegalTransition,
    Refused,
    TaskConflict,
    TaskNotFound,
    UpdateRejected,
    UpdateUnanswered,
    continue_as_new,
    wait_for,
    wait_for_update,
    workflow,
)
from stepward.testing import environment

stock = Agent("stock")


@stock.operation(complete_by="10s")
async def move(amount: int) -> int:
    return amount


def positive(amount: int) -> None:
    if amount <= 0:
        raise ValueError(f"expected more than 0, found {amount}")


@workflow
async def account() -> int:
    """Takes amounts until 100 are together."""
    total = 0
    while total < 100:
        paid = await wait_for_update("pay", type=int, validator=positive)
        if paid.value > 100:
            paid.reject("too much at once")
            continue
        total += await move(paid.value)
        paid.accept(total)
    return total


@workflow
async def forgetful() -> None:
    await wait_for_update("pay")
    await wait_for("end")


@workflow
async def counter(count: int = 0) -> int:
    asked = await wait_for_update("add")
    asked.accept(count + 1)
    if count == 4:
        return count + 1
    continue_as_new(count + 1)


app = App("bank", workflows=[account, forgetful, counter], agents=[stock])
FAKES = {move: move.fn}


async def test_updates_are_applied_and_answered_in_order() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(account, id="t")
        assert [await task.update("pay", 10), await task.update("pay", 20)] == [10, 30]
        assert sorted(await asyncio.gather(*(task.update("pay", 10) for _ in range(4)))) == [40, 50, 60, 70]
        assert await task.update("pay", 30) == 100
        assert await task.result() == 100
        assert [call.args for call in env.calls(move)] == [(10,), (20,), (10,), (10,), (10,), (10,), (30,)]


async def test_rejected_updates_change_nothing() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(account, id="t")
        with pytest.raises(UpdateRejected, match="update pay of task t: expected more than 0, found -5"):
            await task.update("pay", -5)
        with pytest.raises(UpdateRejected, match=r"update pay of task t: update pay: .*int"):
            await task.update("pay", "much")
        assert await task.steps() == []
        with pytest.raises(UpdateRejected, match="update pay of task t: too much at once"):
            await task.update("pay", 500)
        assert await task.update("pay", 100) == 100
        assert await task.result() == 100


async def test_an_id_is_carried_out_once_and_gives_the_same_answer() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(account, id="t")
        answers = [await task.update("pay", 10, id="one") for _ in range(3)]
        answers += await asyncio.gather(*(task.update("pay", 20, id="two") for _ in range(3)))
        assert answers == [10, 10, 10, 30, 30, 30]
        for _ in range(2):
            with pytest.raises(UpdateRejected, match="found -1"):
                await task.update("pay", -1, id="three")
        with pytest.raises(TaskConflict, match="expected 'other' under that id, found 'pay'"):
            await task.update("other", id="one")
        assert await task.update("pay", 70) == 100
        await task.result()
        assert await task.update("pay", 10, id="one") == 10


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("point", ["turn.start", "turn.finish"])
async def test_a_takeover_neither_loses_nor_repeats_an_update(point: str, moment: str) -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(account, id="t")
        asked = [asyncio.create_task(task.update("pay", 25)) for _ in range(4)]
        await env.crash(at=f"{point}.{moment}")
        assert sorted([await each for each in asked]) == [25, 50, 75, 100]
        assert await task.result() == 100


async def test_updates_reach_the_run_that_waits_for_them() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(counter, id="t")
        assert sorted(await asyncio.gather(*(task.update("add") for _ in range(5)))) == [1, 2, 3, 4, 5]
        assert await task.result() == 5


async def test_a_task_that_ends_without_an_answer_says_so() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(forgetful, id="t")
        asked = asyncio.create_task(task.update("pay", 1, id="one"))
        await env.skip("1s")
        await task.signal("end")
        with pytest.raises(
            UpdateUnanswered, match="update pay of task t: expected an answer, found the task processed"
        ):
            await asked
        with pytest.raises(UpdateUnanswered):
            await task.update("pay", 1, id="one")
        with pytest.raises(IllegalTransition, match="update pay to task t: expected one that has not ended"):
            await task.update("pay", 1)
        with pytest.raises(TaskNotFound):
            await env.client.task("none").update("pay", 1)


async def test_an_update_that_nothing_waits_for_ends_with_its_timeout_and_stands() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(counter, 4, id="t")
        with pytest.raises(TimeoutError, match=r"update pya of task t: .* within 5s,.*ask again with id='one'"):
            await task.update("pya", timeout="5s", id="one")
        assert await task.update("add", timeout="5s") == 5


@pytest.mark.parametrize(("name", "id"), [("no spaces", None), ("", None), ("pay", "a b")])
async def test_wrong_names_and_ids_are_refused(name: str, id: str | None) -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(account, id="t")
        with pytest.raises(Refused):
            await task.update(name, 1, id=id)
        with pytest.raises(Refused, match="use update and wait_for_update"):
            await task.signal("update:pay", 1)


@pytest.mark.parametrize(
    "given", [{"timeout": "banana"}, {"timeout": -1}, {"by": 5}, {"by": ""}, {"by": "a\x00"}, {"by": "x" * 201}]
)
async def test_an_update_that_is_refused_for_its_options_is_not_carried_out(given: dict[str, Any]) -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(account, id="t")
        with pytest.raises(Refused):
            await task.update("pay", 50, **given)
        with pytest.raises(Refused):
            await task.signal("note", 1, by=given.get("by", 5))
        assert await task.update("pay", 1) == 1


class Late:
    """A validator that is not seen to be async before it is called."""

    async def __call__(self, _: object) -> None: ...


@workflow
async def odd(kind: str) -> str:
    """Answers in ways that no update may be answered in."""

    def refuse(_: object) -> None:
        raise ValueError("found \ud800")

    validators: dict[str, Any] = {"surrogate": refuse, "number": 5, "coroutine": Late()}
    try:
        update = await wait_for_update("pay", validator=validators.get(kind), timeout="5s")
        update.reject(cast(str, 7))
    except (Refused, TimeoutError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


async def test_a_message_that_json_cannot_hold_rejects_the_update_alone() -> None:
    async with environment(App("bank", workflows=[odd])) as env:
        task = await env.client.submit(odd, "surrogate")
        with pytest.raises(UpdateRejected, match=r"found \?"):
            await task.update("pay", 1)
        assert (await task.result()).startswith("TimeoutError")


async def test_what_a_validator_that_is_async_would_say_rejects_the_update() -> None:
    async with environment(App("bank", workflows=[odd])) as env:
        task = await env.client.submit(odd, "coroutine")
        with pytest.raises(
            UpdateRejected, match="validator of update pay: expected a plain function, found that it is"
        ):
            await task.update("pay", 1)
        await task.cancel()


async def test_a_validator_and_a_message_of_other_types_are_refused() -> None:
    async with environment(App("bank", workflows=[odd])) as env:
        task = await env.client.submit(odd, "number")
        assert (await task.result()).startswith("Refused: validator of update pay: expected a plain function, found 5")
        task = await env.client.submit(odd, "message")
        with pytest.raises(UpdateUnanswered):
            await task.update("pay", 1)
        assert (await task.result()).startswith("Refused: rejection of update pay: expected a text, found 7")


def test_a_blocking_client_gets_the_answer(tmp_path: Path) -> None:
    bank = App("bank", workflows=[account], agents=[stock], store=f"sqlite:///{tmp_path / 'bank.db'}")
    with bank.sync_client() as client:
        task = client.submit(account, id="t")

        async def run() -> None:
            async with bank.running():
                assert await asyncio.to_thread(task.update, "pay", 40, timeout=30) == 40
                with pytest.raises(UpdateRejected):
                    await asyncio.to_thread(task.update, "pay", 0, timeout=30)
                assert await asyncio.to_thread(task.update, "pay", 60, timeout=30) == 100

        asyncio.run(run())
        assert task.result() == 100
