"""Searching by the client: typed attributes, filters, pages, counts; and what it says of bad ones."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from stepward import App, set_attributes, step, wait_for, workflow
from stepward.errors import InvalidFilter, Refused

DUE = datetime(2026, 1, 31, 12, tzinfo=UTC)


@step()
async def priced(amount: int) -> int:
    return amount


@workflow
async def order(amount: int) -> int:
    set_attributes(total=await priced(amount), due=DUE, rush=amount > 1)
    set_attributes(rush=None)
    await wait_for("go")
    set_attributes(shipped=True)
    return amount


@workflow
async def crowded() -> None:
    set_attributes(**{f"a{number}": number for number in range(21)})


@pytest.fixture
def app(tmp_path: Path) -> App:
    return App("shop", workflows=[order, crowded], store=f"sqlite:///{tmp_path}/shop.db")


async def test_tasks_are_found_by_what_submission_and_code_say_of_them(app: App) -> None:
    async with app.running(), app.client() as client:
        handles = [
            await client.submit(order, number, id=f"o-{number}", attributes={"customer": name}, labels={"city": "Ulm"})
            for number, name in enumerate(["alice", "bob", "alice"])
        ]
        await handles[0].signal("go")
        await handles[0].result()
        found = await client.tasks(where="attr.customer = 'alice' and attr.due < '2026-02-01' and label.city = 'Ulm'")
        assert [task.id for task in found] == ["o-2", "o-0"]
        assert found[0] == await handles[2].status()
        assert found[1].attributes == {"customer": "alice", "due": DUE, "shipped": True, "total": 0}
        assert [task.id for task in await client.tasks(where="attr.total >= 1", order="oldest")] == ["o-1", "o-2"]
        assert [task.id for task in await client.tasks(where="attr.shipped = true")] == ["o-0"]
        assert await client.tasks(where="attr.rush is not null") == []
        assert (await client.count(where="state = 'waiting'")).number == 2
        recorded = [step.output for step in await handles[0].steps() if step.name == "set_attributes"]
        assert recorded[1:] == [{"rush": None}, {"shipped": True}]


async def test_attributes_that_code_has_set_outlive_a_restart(app: App) -> None:
    async with app.running(), app.client() as client:
        handle = await client.submit(order, 5, id="o", attributes={"customer": "alice"})
        while (await handle.status()).state != "waiting":
            pass
    async with app.running(), app.client() as client:
        await client.task("o").signal("go")
        await client.task("o").result()
        (found,) = await client.tasks(where="attr.shipped = true and attr.customer = 'alice' and attr.total = 5")
        assert found.id == "o"


async def test_pages_follow_one_another_and_keep_their_order(app: App) -> None:
    async with app.client() as client:
        for number in range(7):
            await client.submit(order, number, id=f"o-{number}")
        first = await client.tasks(limit=3)
        second = await client.tasks(limit=3, cursor=first.cursor)
        third = await client.tasks(limit=3, cursor=second.cursor)
        assert [task.id for page in (first, second, third) for task in page] == [f"o-{n}" for n in range(6, -1, -1)]
        assert third.cursor is None
        with pytest.raises(Refused, match="cursor: expected one of a page in the same order"):
            await client.tasks(order="oldest", cursor=first.cursor)
        for forged in ("", "x", "é", "W10", 5):
            with pytest.raises(Refused, match="cursor: expected one that a page gave"):
                await client.tasks(cursor=forged)  # type: ignore[arg-type]


async def test_too_many_attributes_fail_the_workflow_that_sets_them(app: App) -> None:
    async with app.running(), app.client() as client:
        handle = await client.submit(crowded)
        with pytest.raises(Exception, match="attributes: expected at most 20, found 21"):
            await handle.result()


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"": 1}, "attributes: expected names of 1 to 64"),
        ({"a b": 1}, "attributes: expected names of 1 to 64"),
        ({"a": "x" * 201}, "attribute a: expected at most 200 characters"),
        ({"a": "\0"}, "attribute a: expected at most 200 characters and none of control"),
        ({"a": 2**60}, "attribute a: expected a number of at most 2"),
        ({"a": float("nan")}, "attribute a: expected a number"),
        ({"a": datetime(2026, 1, 1)}, "attribute a: expected a datetime with a time zone"),  # noqa: DTZ001
        ({"a": []}, "attribute a: expected a text, number, bool or datetime"),
        ({f"a{n}": n for n in range(21)}, "attributes: expected at most 20"),
        ([1], "attributes: expected values by name"),
    ],
)
async def test_attributes_that_are_none_are_refused(app: App, attributes: object, message: str) -> None:
    async with app.client() as client:
        with pytest.raises(Refused, match=message):
            await client.submit(order, 1, attributes=attributes)  # type: ignore[call-arg]


async def test_a_filter_that_cannot_be_read_is_refused_with_its_place(app: App) -> None:
    async with app.client() as client:
        with pytest.raises(InvalidFilter, match=r"where, character 9: expected a state, found 'eror'; did you mean"):
            await client.tasks(where="state = 'eror'")
        with pytest.raises(InvalidFilter, match="character 1"):
            await client.count(where="stat = 'error'")
        with pytest.raises(Refused, match="order: expected one of newest, oldest"):
            await client.tasks(order="random")
