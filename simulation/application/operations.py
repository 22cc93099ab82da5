"""Operations, undos and local steps of the simulated services, and the world that they act in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from simulation.application.live_values import write_of_step
from simulation.application.services import SimulatedService
from stepward.agent.declaration import Agent
from stepward.errors import Unrecoverable
from stepward.model.current_step import current_step
from stepward.policies import CircuitBreaker, Retry
from stepward.workflow.definition import step


class Surroundings(Protocol):
    """The world of the seed that runs."""

    services: dict[str, SimulatedService]
    flags: dict[str, bool]
    """Which flags are off; all others are on."""

    def called(self, remaining: float, key: str) -> None:
        """An operation was called."""
        ...

    def running(self, agent: str, key: str, complete_by: float) -> AbstractContextManager[None]:
        """A call runs for as long as the block."""
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


class Here:
    """Where the declarations below find the world: one seed runs at a time."""

    world: Surroundings


def enter(world: Surroundings) -> None:
    """Let the declarations act in ``world``."""
    Here.world = world


BREAKER = CircuitBreaker(failures=6, reset_after="2s")
pay = Agent("pay", retry=Retry(attempts=2, initial="100ms", maximum="500ms"), breaker=BREAKER, concurrency=4)
ship = Agent("ship", retry=Retry(attempts=1), breaker=BREAKER, concurrency=2)
mail = Agent("mail", retry=Retry(attempts=3, initial="50ms", maximum="1s"), breaker=BREAKER)
AGENTS = [pay, ship, mail]


async def _do(service: str, operation: str, amount: int) -> Any:
    now = current_step()
    Here.world.called(now.remaining, now.idempotency_key)
    _interrupt()
    write_of_step(now.idempotency_key)
    with Here.world.running(service, now.idempotency_key, now.complete_by.timestamp()):
        return await Here.world.services[service].do(now.idempotency_key, operation, amount)


def _interrupt() -> None:
    if Here.world.interrupts():
        raise KeyboardInterrupt


async def _undo(service: str, operation: str) -> None:
    now = current_step()
    Here.world.called(now.remaining, now.idempotency_key)
    Here.world.undoes(now.undoes or "")
    with Here.world.running(service, now.idempotency_key, now.complete_by.timestamp()):
        await Here.world.services[service].undo(now.undoes or "", operation)


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
