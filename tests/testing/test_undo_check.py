"""check_undo: an undo restores what its operation changed, whatever is known of the outcome."""

from __future__ import annotations

from typing import Any

import pytest

from stepward import Agent, App
from stepward.errors import DeclarationError
from stepward.testing import check_undo

payments = Agent("payments")


@payments.operation(complete_by="10s")
async def charge(order: str, cents: int) -> str:
    raise AssertionError("the real service was called")


@charge.undo
async def refund(charge_id: str | None, order: str, cents: int) -> None:
    raise AssertionError("the real service was called")


@payments.operation
async def report(order: str) -> None: ...


app = App("shop", agents=[payments])


class Bank:
    """A service: charges by order, and what refunds are worth of."""

    def __init__(self) -> None:
        self.charges: dict[str, int] = {}
        self.refunds = 0

    def charge(self, order: str, cents: int) -> str:
        self.charges[order] = cents
        return f"charge-{order}"

    def refund(self, charge_id: str | None, order: str, cents: int) -> None:
        self.charges.pop(order, None)

    def refund_by_id(self, charge_id: str | None, order: str, cents: int) -> None:
        if charge_id is not None:
            del self.charges[charge_id.removeprefix("charge-")]

    def refund_without_looking(self, charge_id: str | None, order: str, cents: int) -> None:
        self.charges.pop(order, None)
        self.refunds += 1


async def test_an_undo_that_restores_the_state_passes() -> None:
    bank = Bank()
    await check_undo(
        app, charge, "A-1", 4200, state=lambda: bank.charges, fakes={charge: bank.charge, refund: bank.refund}
    )
    assert bank.charges == {}


async def test_the_state_may_be_read_by_a_coroutine() -> None:
    bank = Bank()

    async def state() -> dict[str, int]:
        return bank.charges

    await check_undo(app, charge, "A-1", 4200, state=state, fakes={charge: bank.charge, refund: bank.refund})


async def test_an_undo_that_needs_the_result_fails_where_the_reply_was_lost() -> None:
    bank = Bank()
    with pytest.raises(AssertionError, match=r"where no reply of the operation arrived: expected .* found"):
        await check_undo(
            app, charge, "A-1", 4200, state=lambda: bank.charges, fakes={charge: bank.charge, refund: bank.refund_by_id}
        )


@pytest.mark.parametrize(("least", "case"), [(1, "the operation never acted"), (2, "the undo was called twice")])
async def test_an_undo_that_acts_once_too_often_fails(least: int, case: str) -> None:
    bank = Bank()
    results: list[Any] = []

    def refund_too_often(charge_id: str | None, order: str, cents: int) -> None:
        """Refund more than was charged: where nothing was charged, or where it was refunded before."""
        is_charged = order in bank.charges
        bank.charges.pop(order, None)
        results.append(charge_id)
        if not is_charged and (least == 1 or charge_id is not None):
            bank.refunds += 1

    with pytest.raises(AssertionError, match=f"where {case}: "):
        await check_undo(
            app,
            charge,
            "A-1",
            4200,
            state=lambda: (bank.charges, bank.refunds),
            fakes={charge: bank.charge, refund: refund_too_often},
        )


async def test_an_undo_that_fails_is_reported_with_the_state_of_the_task() -> None:
    bank = Bank()

    def broken(charge_id: str | None, order: str, cents: int) -> None:
        raise ValueError("no such charge")

    with pytest.raises(AssertionError, match=r"where the operation completed: .* found the task error"):
        await check_undo(
            app, charge, "A-1", 4200, state=lambda: bank.charges, fakes={charge: bank.charge, refund: broken}
        )


async def test_an_operation_without_an_undo_is_refused() -> None:
    with pytest.raises(DeclarationError, match="expected an operation with an undo, found"):
        await check_undo(app, report, "A-1", state=dict)


async def test_a_state_that_the_operation_does_not_change_is_refused() -> None:
    bank = Bank()
    with pytest.raises(DeclarationError, match=r"expected payments.charge to change what state\(\) returns"):
        await check_undo(app, charge, "A-1", 4200, state=dict, fakes={charge: bank.charge, refund: bank.refund})
