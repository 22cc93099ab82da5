"""Submissions under a rule for their key, from the client through undo to the result."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepward import Collect, Debounce, Refused, Singleton, TaskConflict, Throttle
from stepward.errors import InvalidDuration
from stepward.model.states import TaskState
from stepward.workflow.definition import Workflow, workflow
from tests.scheduler.world import Service, World, take, until


def orders(service: Service) -> Workflow[[str], str]:
    @workflow
    async def order(what: str) -> str:
        await service.do(what)
        return await service.do(f"{what} again")

    return order


@pytest.fixture
def slow(service: Service) -> Service:
    """A service that takes 5 s for ``a``."""
    service.plan("do a again", take(5))
    return service


async def test_a_live_task_refuses_another_of_its_key_and_names_itself(world: World, slow: Service) -> None:
    order = orders(slow)
    client = await world.start([order], [slow.agent])
    handle = await client.submit(order, "a", id="first", per_key=Singleton("k"))
    with pytest.raises(TaskConflict, match=r"found first, (processing|pending)"):
        await client.submit(order, "b", per_key=Singleton("k"))
    joined = await client.submit(order, "b", per_key=Singleton("k", if_running="join"))
    assert joined.id == "first"
    assert await handle.result(timeout=60) == await joined.result(timeout=60) == "a again done"
    assert (await client.submit(order, "b", id="second", per_key=Singleton("k"))).id == "second"


async def test_a_replacement_begins_once_the_other_is_undone(world: World, slow: Service) -> None:
    order = orders(slow)
    client = await world.start([order], [slow.agent])
    first = await client.submit(order, "a", per_key=Singleton("k", if_running="replace"))
    await until(lambda: done(slow, "do a"))
    second = await client.submit(order, "b", per_key=Singleton("k", if_running="replace"))
    assert await second.result(timeout=60) == "b again done"
    assert (await first.status()).state is TaskState.CANCELLED
    assert slow.log.index("undo a") < slow.log.index("do b")
    (cancelled,) = [act for act in await client.audits(first.id) if act.act == "cancel"]
    assert second.id in str(cancelled.details)


async def done(service: Service, call: str) -> bool:
    return call in service.log


async def test_submissions_in_quick_succession_make_one_task_of_the_last_arguments(
    world: World, service: Service
) -> None:
    order = orders(service)
    client = await world.start([order], [service.agent])
    rule = Debounce("k", wait="2s", latest="10s")
    handles = []
    for what in "abc":
        handles.append(await client.submit(order, what, per_key=rule))
        await asyncio.sleep(1)
    assert {handle.id for handle in handles} == {handles[0].id}
    assert await handles[2].result(timeout=60) == "c again done"
    assert service.log == ["do c", "do c again"]


async def test_a_throttled_submission_gets_the_task_that_is_there(world: World, service: Service) -> None:
    order = orders(service)
    client = await world.start([order], [service.agent])
    rule = Throttle("k", every="1h", if_too_soon="join")
    first = await client.submit(order, "a", per_key=rule)
    await first.result(timeout=60)
    assert await (await client.submit(order, "b", per_key=rule)).result(timeout=60) == "a again done"
    many = await client.submit_many(order, [("c",), ("d",)], per_key=Throttle("other", every="1h", if_too_soon="join"))
    assert len({handle.id for handle in many}) == 1


async def test_submissions_are_gathered_and_all_get_the_result(world: World, service: Service) -> None:
    @workflow
    async def count(items: list[str]) -> str:
        return await service.do(",".join(items))

    client = await world.start([count], [service.agent])
    rule = Collect("k", size=3, within="5s")
    handles = [await client.submit(count, [what], id=f"item-{what}", per_key=rule) for what in "abcd"]
    assert [await handle.result(timeout=60) for handle in handles] == [*["a,b,c done"] * 3, "d done"]
    assert (await client.submit(count, ["b"], id="item-b", per_key=rule)).id == "item-a"
    for wrong in ((["a"], ["b"]), (), (7,)):
        with pytest.raises(Refused, match="expected"):
            await client.submit("count", *wrong, per_key=rule)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"per_key": "k"}, "per_key: expected Singleton"),
        ({"per_key": Debounce("k", wait=1, latest=2), "delay": 1}, "delay: expected none with Debounce"),
        ({"per_key": Singleton("k", if_running="replace"), "delay": 1}, "delay: expected none with Singleton"),
        ({"per_key": Debounce("k", wait=1, latest=9), "complete_by": 5}, "delay: expected less than"),
    ],
)
async def test_rules_that_do_not_go_with_the_other_options_are_refused(
    world: World, service: Service, options: dict[str, Any], said: str
) -> None:
    order = orders(service)
    client = await world.client(world.app([order], [service.agent]))
    with pytest.raises(Refused, match=said):
        await client.submit(order, "a", **options)
    assert await client.tasks() == []


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Singleton(""), "Singleton.key: expected 1 to 200 characters"),
        (lambda: Singleton("a\nb"), "Singleton.key: expected no control characters"),
        (lambda: Singleton("k", if_running="wait"), "expected one of refuse, join, replace, found 'wait'"),  # type: ignore[arg-type]
        (lambda: Throttle("k", every="1h", if_too_soon="replace"), "expected one of refuse, join, found"),  # type: ignore[arg-type]
        (lambda: Throttle("k", every="soon"), "Throttle.every: expected a timedelta"),
        (lambda: Collect("k", size=1, within=5), "Collect.size: expected 2 to 1,000, found 1"),
        (lambda: Debounce("k", wait=5, latest=4), "Debounce.latest: expected at least wait"),
    ],
)
def test_what_is_no_rule_is_refused_where_it_is_made(make: Any, said: str) -> None:
    with pytest.raises((Refused, InvalidDuration), match=said):
        make()


async def test_transactions_that_cannot_follow_a_rule_are_refused(world: World, service: Service) -> None:
    order = orders(service)
    client = await world.client(world.app([order], [service.agent]))
    async with client.transaction() as transaction:
        handle = await client.submit(order, "a", transaction=transaction, per_key=Singleton("k"))
        with pytest.raises(Refused, match="expected no transaction with if_running='replace'"):
            replacing = Singleton("k", if_running="replace")
            await client.submit(order, "b", transaction=transaction, per_key=replacing)
    assert [task.id for task in await client.tasks()] == [handle.id]
    with pytest.raises(Refused, match="expected no transaction of the application's own"):
        await client.submit(order, "a", transaction=object(), per_key=Singleton("k"))
