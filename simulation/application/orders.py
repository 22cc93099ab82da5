"""The application's submission under simulation: what its messages hold, and what it does with each kind of them."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct

from simulation.application.pipelines import PIPELINES
from simulation.application.workload import WORKFLOWS, WorkloadPlan
from stepward.errors import Unacceptable
from stepward.store.contract import Transaction
from stepward.submission import Accepted, Message, SubmissionQueue

QUEUE = "orders"
PREFIX = "queued-"
"""How the ids of messages start, and so those of the tasks that are made of them."""
ADD = "insert into simulated_order values (?)"
ADD_OR_SPOIL = "insert or rollback into simulated_order values (?)"


class SimulatedOrder(Struct, frozen=True, kw_only=True):
    """What a message asks for, and how it turns out while it is accepted."""

    policy: str
    plan: WorkloadPlan
    deadline: float | None = None
    fails: int = 0
    """So many tries fail before it is accepted."""
    needs_calm: bool = False
    """As long as anything goes wrong in the world, it fails too."""
    never: str | None = None
    """``unacceptable``, ``failing``, ``spoiling`` its transaction, or ``poison`` that ends the process each time."""

    @property
    def is_good(self) -> bool:
        """Whether it becomes a task in the end."""
        return self.never is None


class Surroundings(Protocol):
    """The world of the seed that runs."""

    faulty: bool

    def poisoned(self) -> None:
        """The process that runs now dies of what it does."""
        ...


class _Here:
    """Where ``accept`` finds the world: one seed runs at a time."""

    world: Surroundings


def enter(world: Surroundings) -> None:
    """Let ``accept`` act in ``world``."""
    _Here.world = world


async def accept(message: Message, transaction: Transaction) -> Accepted:
    """Write the order's row first, so that whatever goes wrong after it would leave it behind alone."""
    order = message.read(SimulatedOrder)
    if order.never == "unacceptable":
        raise Unacceptable("nobody wants that")
    await transaction.execute(ADD, (message.id,))
    await _go_wrong(message, order, transaction)
    arguments: list[Any] = [order.plan]
    workflow = PIPELINES.get(order.policy) or WORKFLOWS[order.policy]
    return Accepted(workflow, *arguments, complete_by=order.deadline)


async def _go_wrong(message: Message, order: SimulatedOrder, transaction: Transaction) -> None:
    if order.never == "poison":
        _Here.world.poisoned()
    if order.never == "spoiling":
        await transaction.execute(ADD_OR_SPOIL, (message.id,))
    early = message.tries <= order.fails or (order.needs_calm and _Here.world.faulty)
    if early or order.never == "failing":
        raise ValueError("not this time")


ORDERS = SubmissionQueue(QUEUE, accept)
