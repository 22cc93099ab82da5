"""The values that tasks write in some worlds: operations stream two and publish one, workflow code streams one."""

from __future__ import annotations

import random

from stepward.model.action import current_caller
from stepward.workflow.live_values import publish, stream

VALUES_FROM = 360_000_000
"""The first seed whose world may have live values: those before it go on as they always did."""
STEPS, CODE, LAST = "steps", "code", "last"
"""The stream of operations, that of workflow code, and what operations publish."""
WRITERS = frozenset({"pay.charge", "pay.note", "ship.send", "mail.post"})
"""The operations that write."""
EACH = 2
"""Values that a call of an operation streams."""


class _Here:
    """Whether tasks write values in the world that runs: one seed runs at a time."""

    is_on = False


def has_values(seed: int) -> bool:
    """Whether tasks of that seed's world write values."""
    return seed >= VALUES_FROM and random.Random(f"{seed}/values").random() < 0.8


def enter(seed: int, *, plain: bool) -> bool:
    """Let tasks write as the world of the seed has it; whether they do."""
    _Here.is_on = not plain and has_values(seed)
    return _Here.is_on


def write_of_step(key: str) -> None:
    """Write what a call of an operation does that acts under that key."""
    if _Here.is_on:
        for number in range(EACH):
            stream(STEPS).write([key, number])
        publish(LAST, key)


def write_of_code(amount: int) -> None:
    """Write what workflow code does once an operation has given its result."""
    if _Here.is_on and current_caller() is not None:
        stream(CODE).write(amount)
