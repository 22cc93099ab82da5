"""A workflow that iterates sets of tasks and futures; its history must not depend on the hash seed or on addresses."""

from __future__ import annotations

import asyncio
from typing import Any

from stepward.workflow.definition import workflow
from tests.workflow.declared import charge
from tests.workflow.play import Play, histories


async def bare_ones() -> list[str]:
    """What sets of gather's own futures and of bare ones give, and what asyncio's own sets of them give."""
    bare = {asyncio.Future[int]() for _ in range(12)}
    groups = {asyncio.gather(charge(f"a {number}"), charge(f"b {number}")) for number in range(6)}
    shields = {asyncio.shield(asyncio.gather(charge(f"c {number}"))) for number in range(6)}
    for number, future in enumerate(bare):
        assert isinstance(future, asyncio.Future)
        future.set_result(number)
    order = [str(future.result()) for future in bare]
    left: set[asyncio.Future[Any]] = {*groups, *shields}
    while left:
        done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        for group in done:
            order.append(str(group.result()))
            order.append(str(await charge(f"after {group.result()}")))
    groups_again = {asyncio.gather(charge(f"d {number}")) for number in range(6)}
    return order + [str(await one) for one in asyncio.as_completed(groups_again)]


@workflow
async def with_sets() -> list[str]:
    tasks = {asyncio.create_task(charge(f"order {number}")) for number in range(12)}
    loop = asyncio.get_running_loop()
    futures = {loop.create_future() for _ in range(12)}
    for number, future in enumerate(futures):
        future.set_result(number)
    order = [str(future.result()) for future in futures]
    order += await bare_ones()
    while tasks:
        done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            order.append(str(task.result()))
            if len(order) < 120:
                tasks.add(asyncio.create_task(charge(f"next of {task.result()}")))
    return order


def tell() -> None:
    """Run to the end, always finishing the middle step, and print everything."""
    play = Play(with_sets)
    while play.end is None:
        key = play.running[len(play.running) // 2]
        play.finish(key, key)
    assert play.verified() is None
    for one in histories(list(play.rows.values())):
        print(one)
    print([row.input for row in play.rows.values()], play.result)
