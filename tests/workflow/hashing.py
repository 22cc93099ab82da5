"""A workflow that iterates sets of tasks; its history must not depend on the hash seed or on addresses."""

from __future__ import annotations

import asyncio

from stepward.workflow.definition import workflow
from tests.workflow.declared import charge
from tests.workflow.play import Play, histories


@workflow
async def with_sets() -> list[str]:
    tasks = {asyncio.create_task(charge(f"order {number}")) for number in range(12)}
    loop = asyncio.get_running_loop()
    futures = {loop.create_future() for _ in range(12)}
    for number, future in enumerate(futures):
        future.set_result(number)
    order = [str(future.result()) for future in futures]
    while tasks:
        done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            order.append(str(task.result()))
            if len(order) < 32:
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
