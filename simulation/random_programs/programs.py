"""Random workflows whose ends are computed beforehand: the interpreter that the product runs.

A program is JSON, like a plan; but nothing in it depends on who is quicker, and its Agent's service fails for good only
where the program says so. So whatever goes wrong around it, it has one end: a state, a result, and the effects that
stand. Only of steps beside one that fails it cannot be said whether they were reached.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from simulation.application.services import SimulatedService
from stepward.agent.declaration import Agent
from stepward.errors import StepFailed, Unrecoverable
from stepward.model.current_step import current_step
from stepward.policies import Backoff, CircuitBreaker, Retry, Supervision
from stepward.workflow.definition import UndoRuns, Workflow, workflow
from stepward.workflow.functions import continue_as_new, wait_for

Program = list[Any]
AGENT = "lab"
NAME, SETTLING_NAME = "program", "settling"
HALT = "halt"
"""The signal that never comes: a task that waits for it is undone or cancelled by an operator."""
NEVER = "never"
LATE = "too late"
CAUGHT = "caught"


class Surroundings(Protocol):
    """The world of the seed that runs."""

    lab: SimulatedService

    def called(self, remaining: float, key: str) -> None:
        """An operation was called."""
        ...

    def undoes(self, key: str) -> None:
        """An undo was called for what that key did."""
        ...

    def acted(self, key: str, number: int) -> None:
        """A step of a program is about to act under that key."""
        ...


class _Here:
    """Where the declarations below find the world: one seed runs at a time."""

    world: Surroundings


def enter(world: Surroundings) -> None:
    """Let the declarations act in ``world``."""
    _Here.world = world


lab = Agent(
    AGENT,
    retry=Retry(attempts=2, initial="100ms", maximum="500ms"),
    breaker=CircuitBreaker(failures=6, reset_after="2s"),
    concurrency=4,
)


@lab.operation(complete_by="4s")
async def act(number: int, declines: bool) -> int:
    """Has an effect, or is declined for good."""
    now = current_step()
    _Here.world.called(now.remaining, now.idempotency_key)
    if declines:
        raise Unrecoverable(f"{number} is declined")
    _Here.world.acted(now.idempotency_key, number)
    await _Here.world.lab.do(now.idempotency_key, "act", number)
    return number


@act.undo
async def revert(result: int | None, number: int, declines: bool) -> None:
    """Take the effect back."""
    now = current_step()
    _Here.world.called(now.remaining, now.idempotency_key)
    _Here.world.undoes(now.undoes or "")
    await _Here.world.lab.undo(now.undoes or "", "act")


async def _run(program: Program) -> Any:
    return await NODES[program[0]](*program[1:])


async def _sequence(*parts: Program) -> list[Any]:
    return [await _run(part) for part in parts]


async def _all(*parts: Program) -> list[Any]:
    return list(await asyncio.gather(*map(_run, parts)))


async def _sleep(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "slept"


async def _late(seconds: float) -> str:
    try:
        await wait_for(NEVER, timeout=seconds)
    except TimeoutError:
        return LATE
    return "early"


async def _catch(part: Program, otherwise: Program) -> Any:
    try:
        return await _run(part)
    except StepFailed:
        return [CAUGHT, await _run(otherwise)]


async def _child(part: Program) -> Any:
    return await PROGRAM(part)


async def _halt() -> Any:
    return await wait_for(HALT)


async def _again(runs: int, part: Program, last: Program) -> Any:
    await _run(part)
    if runs:
        continue_as_new(["again", runs - 1, part, last])
    return await _run(last)


NODES: dict[str, Callable[..., Awaitable[Any]]] = {
    "do": act,
    "sequence": _sequence,
    "all": _all,
    "sleep": _sleep,
    "late": _late,
    "wait": wait_for,
    "catch": _catch,
    "child": _child,
    "halt": _halt,
    "again": _again,
}


def _declared(name: str, undo: UndoRuns) -> Workflow[[Program], Any]:
    async def body(program: list[Any]) -> Any:
        return await _run(program)

    patient = Supervision(threshold=10_000, backoff=Backoff("500ms", factor=2.0, maximum="2s"), then="undo")
    declare: Any = workflow(name=name, supervision=patient, undo=undo)
    declared: Workflow[[Program], Any] = declare(body)
    return declared


PROGRAM = _declared(NAME, "all runs")
SETTLING = _declared(SETTLING_NAME, "this run")
"""A workflow whose undo keeps the effects of the runs before the last one."""
