"""The application under simulation: Agents of the simulated services, and workflows that follow a plan.

A plan is JSON: a list whose first item names a node. The workflow interprets it, so that one declaration of a workflow
serves every seed, and a resubmission finds the same plan in the task's own arguments.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from simulation.application.approvals import approved
from simulation.application.deployments import DEPLOYMENTS
from simulation.application.services import SimulatedService
from stepward.agent.declaration import Agent
from stepward.errors import StepFailed, Unrecoverable
from stepward.model.action import current_caller
from stepward.model.current import current_step
from stepward.policies import Backoff, CircuitBreaker, LongWait, Retry, Supervision
from stepward.workflow.definition import Workflow, step, workflow
from stepward.workflow.functions import continue_as_new, current_task, side_effect, wait_for

WorkloadPlan = list[Any]


class Surroundings(Protocol):
    """The world of the seed that runs."""

    services: dict[str, SimulatedService]
    flags: dict[str, bool]
    """Which flags are off; all others are on."""

    def called(self, remaining: float, key: str) -> None:
        """An operation was called."""
        ...

    def value(self, task: str) -> int:
        """Something that no replay would give again."""
        ...

    def hangs(self, task: str) -> None:
        """Workflow code of that task never gives the loop back."""
        ...

    def interrupts(self) -> bool:
        """Whether the code that asks is to raise what is meant to end a process."""
        ...

    def undoes(self, key: str) -> None:
        """An undo was called for what that key did."""
        ...


class _Here:
    """Where the declarations below find the world: one seed runs at a time."""

    world: Surroundings


def enter(world: Surroundings) -> None:
    """Let the declarations act in ``world``."""
    _Here.world = world


BREAKER = CircuitBreaker(failures=6, reset_after="2s")
pay = Agent("pay", retry=Retry(attempts=2, initial="100ms", maximum="500ms"), breaker=BREAKER, concurrency=4)
ship = Agent("ship", retry=Retry(attempts=1), breaker=BREAKER, concurrency=2)
mail = Agent("mail", retry=Retry(attempts=3, initial="50ms", maximum="1s"), breaker=BREAKER)
AGENTS = [pay, ship, mail]


async def _do(service: str, operation: str, amount: int) -> Any:
    now = current_step()
    _Here.world.called(now.remaining, now.idempotency_key)
    _interrupt()
    return await _Here.world.services[service].do(now.idempotency_key, operation, amount)


def _interrupt() -> None:
    if _Here.world.interrupts():
        raise KeyboardInterrupt


async def _undo(service: str, operation: str) -> None:
    now = current_step()
    _Here.world.called(now.remaining, now.idempotency_key)
    _Here.world.undoes(now.undoes or "")
    await _Here.world.services[service].undo(now.undoes or "", operation)


@pay.operation(complete_by="3s")
async def charge(amount: int) -> dict[str, int]:
    """Has an undo; the service knows keys again."""
    answer: dict[str, int] = await _do("pay", "charge", amount)
    return answer


@charge.undo
async def refund(result: dict[str, int] | None, amount: int) -> None:
    """Take the money back."""
    await _undo("pay", "charge")


@pay.operation(complete_by="2s")
async def note(amount: int) -> dict[str, int]:
    """Has no undo."""
    answer: dict[str, int] = await _do("pay", "note", amount)
    return answer


@ship.operation(complete_by="5s")
async def send(amount: int) -> dict[str, int]:
    """Has an undo; the service knows keys again, and few fit at once."""
    answer: dict[str, int] = await _do("ship", "send", amount)
    return answer


@send.undo
async def recall(result: dict[str, int] | None, amount: int) -> None:
    """Stop the parcel."""
    await _undo("ship", "send")


@mail.operation(complete_by="2s")
async def post(amount: int) -> dict[str, int]:
    """Has an undo; the service does not know keys again."""
    answer: dict[str, int] = await _do("mail", "post", amount)
    return answer


@post.undo
async def retract(result: dict[str, int] | None, amount: int) -> None:
    """Write an apology."""
    await _undo("mail", "post")


@step(complete_by="2s")
async def local(amount: int) -> int:
    """Runs beside the Scheduler."""
    _interrupt()
    await asyncio.sleep(0.01)
    if amount % 13 == 0:
        raise Unrecoverable("an unlucky number")
    return amount + 1


@step(complete_by="3s", transaction=True)
async def booked(connection: Any, amount: int) -> int:
    """Writes an application's row in the transaction of its own outcome."""
    await connection.execute("insert into simulated_booking values (?)", (current_step().idempotency_key,))
    return amount * 2


OPERATIONS: dict[str, Callable[[int], Awaitable[Any]]] = {
    "pay.charge": charge,
    "pay.note": note,
    "ship.send": send,
    "mail.post": post,
    "local": local,
    "booked": booked,
}


async def follow(plan: WorkloadPlan) -> Any:
    """Do what a plan says."""
    return await NODES[plan[0]](*plan[1:])


async def _operation(name: str, amount: int, catch: bool) -> Any:
    if not catch:
        return await OPERATIONS[name](amount)
    try:
        return await OPERATIONS[name](amount)
    except StepFailed as error:
        return f"failed: {error}"


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
    return side_effect(lambda: _Here.world.value(task.uid))


async def _guarded(part: WorkloadPlan) -> Any:
    try:
        return await follow(part)
    finally:
        await _value()


async def _bug() -> None:
    raise ValueError("a bug of the application")


async def _flag(name: str, part: WorkloadPlan, otherwise: WorkloadPlan) -> Any:
    """Code that reads a flag as it runs, as no workflow may."""
    return await follow(part if _Here.world.flags.get(name, True) else otherwise)


async def _typo() -> None:
    raise KeyError("typo")


async def _raise(name: str) -> None:
    raise ENDS_OF_PROCESSES[name]


async def _hang() -> None:
    if current_caller() is not None:
        _Here.world.hangs(current_task().uid)


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
