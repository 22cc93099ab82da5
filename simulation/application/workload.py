"""The workflows under simulation, which follow a plan.

A plan is JSON: a list whose first item names a node. The workflow interprets it, so that one declaration of a workflow
serves every seed, and a resubmission finds the same plan in the task's own arguments.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from simulation.application.approvals import approved
from simulation.application.deployments import DEPLOYMENTS
from simulation.application.live_values import write_of_code
from simulation.application.operations import OPERATIONS, Here
from stepward.errors import StepFailed
from stepward.model.action import current_caller
from stepward.policies import Backoff, LongWait, Supervision
from stepward.workflow.definition import Workflow, workflow
from stepward.workflow.functions import continue_as_new, current_task, side_effect, wait_for

WorkloadPlan = list[Any]


async def follow(plan: WorkloadPlan) -> Any:
    """Do what a plan says."""
    return await NODES[plan[0]](*plan[1:])


async def _operation(name: str, amount: int, catch: bool) -> Any:
    try:
        result = await OPERATIONS[name](amount)
    except StepFailed as error:
        if not catch:
            raise
        return f"failed: {error}"
    write_of_code(amount)
    return result


async def _sequence(*parts: WorkloadPlan) -> list[Any]:
    return [await follow(part) for part in parts]


async def _gather(*parts: WorkloadPlan) -> list[Any]:
    return list(await asyncio.gather(*(follow(part) for part in parts)))


async def _group(*parts: WorkloadPlan) -> list[Any]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(follow(part)) for part in parts]
    return [task.result() for task in tasks]


async def _race(*parts: WorkloadPlan) -> list[Any]:
    tasks = [asyncio.create_task(follow(part)) for part in parts]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return [task.result() if task in done else "lost" for task in tasks]


async def _timeout(seconds: float, part: WorkloadPlan) -> Any:
    try:
        async with asyncio.timeout(seconds):
            return await follow(part)
    except TimeoutError:
        return "too late"


async def _sleep(seconds: float) -> float:
    await asyncio.sleep(seconds)
    return seconds


async def _signal(name: str, timeout: float | None) -> Any:
    try:
        return await wait_for(name, timeout=timeout)
    except TimeoutError:
        return "no signal"


async def _child(policy: str, part: WorkloadPlan, catch: bool) -> Any:
    if not catch:
        return await WORKFLOWS[policy](part)
    try:
        return await WORKFLOWS[policy](part)
    except StepFailed as error:
        return f"failed: {error}"


async def _value() -> int:
    if current_caller() is None:
        return 0  # the process is dead, and what is left of it is swept up
    task = current_task()
    return side_effect(lambda: Here.world.value(task.uid))


async def _guarded(part: WorkloadPlan) -> Any:
    try:
        return await follow(part)
    finally:
        await _value()


async def _bug() -> None:
    raise ValueError("a bug of the application")


async def _flag(name: str, part: WorkloadPlan, otherwise: WorkloadPlan) -> Any:
    """Code that reads a flag as it runs, as no workflow may."""
    return await follow(part if Here.world.flags.get(name, True) else otherwise)


async def _typo() -> None:
    raise KeyError("typo")


async def _raise(name: str) -> None:
    raise ENDS_OF_PROCESSES[name]


async def _hang() -> None:
    if current_caller() is not None:
        Here.world.hangs(current_task().uid)


async def _endless(part: WorkloadPlan, seconds: float) -> str:
    await follow(part)
    try:
        await wait_for(ENOUGH, timeout=seconds)
    except TimeoutError:
        continue_as_new(["endless", part, seconds])
    return "enough"


async def _again(part: WorkloadPlan) -> None:
    continue_as_new(part)


NODES: dict[str, Callable[..., Awaitable[Any]]] = {
    "operation": _operation,
    "sequence": _sequence,
    "gather": _gather,
    "group": _group,
    "race": _race,
    "timeout": _timeout,
    "sleep": _sleep,
    "signal": _signal,
    "child": _child,
    "value": _value,
    "guarded": _guarded,
    "bug": _bug,
    "again": _again,
    "flag": _flag,
    "typo": _typo,
    "raise": _raise,
    "hang": _hang,
    "endless": _endless,
    "approval": approved,
}

ENOUGH = "enough"
ENDS_OF_PROCESSES: dict[str, type[BaseException]] = {
    kind.__name__: kind for kind in (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError)
}
SIGNALS = ("go", "stop")
"""What workflows wait for."""

SOON = Backoff("500ms", factor=2.0, maximum="2s")
POLICIES: dict[str, tuple[str | None, Supervision]] = {
    "alert": (None, Supervision(threshold=1, backoff=SOON, then="alert")),
    "undo": (None, Supervision(threshold=2, backoff=SOON, then="undo")),
    "raise": (None, Supervision(threshold=1, backoff=SOON, then="raise")),
    "patient": (None, Supervision(threshold=1, backoff=SOON, then=LongWait("3s", times=2, then="undo"))),
    "strict": ("25s", Supervision(threshold=0, backoff=SOON, then="undo")),
    "stubborn": (None, Supervision(threshold=50, backoff=SOON, then="alert")),
}


def _declared(
    name: str, complete_by: str | None, supervision: Supervision, understood: Callable[[WorkloadPlan], WorkloadPlan]
) -> Workflow[[WorkloadPlan], Any]:
    async def body(plan: list[Any]) -> Any:
        return await follow(understood(plan))

    declare: Any = workflow(name=name, complete_by=complete_by, supervision=supervision, undo="all runs")
    declared: Workflow[[WorkloadPlan], Any] = declare(body)
    return declared


DEPLOYED = [
    {name: _declared(name, *policy, understood) for name, policy in POLICIES.items()} for understood in DEPLOYMENTS
]
"""The workflows of each deployment, by name."""
WORKFLOWS = DEPLOYED[0]
