"""A workflow under simulation that takes updates: it adds amounts, and answers each with the total."""

from __future__ import annotations

from stepward.workflow.definition import workflow
from stepward.workflow.waits.updates import wait_for_update

ADD = "add"
REFUSED = 5
"""The workflow itself rejects the multiples of this amount."""


def is_accepted(amount: int) -> bool:
    """Whether the ledger takes the amount."""
    return amount > 0 and amount % REFUSED != 0


def positive(amount: int) -> None:
    """Raises ValueError for an amount that the ledger does not receive."""
    if amount <= 0:
        raise ValueError("expected more than 0")


@workflow(name="ledger", undo="all runs")
async def ledger(most: int) -> int:
    """Take as many amounts; the total."""
    total = taken = 0
    while taken < most:
        update = await wait_for_update(ADD, type=int, validator=positive)
        if update.value % REFUSED == 0:
            update.reject("a multiple")
            continue
        total, taken = total + update.value, taken + 1
        update.accept(total)
    return total
