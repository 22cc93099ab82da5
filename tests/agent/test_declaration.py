from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, assert_type

import pytest

from stepward.agent.declaration import Agent, Operation
from stepward.errors import DeclarationError, InvalidDuration
from stepward.model.action import Caller
from stepward.model.states import StepKind


def test_an_operation_is_an_action_named_after_its_agent() -> None:
    agent = Agent("payments")

    @agent.operation(complete_by="1m", irreversible=True)
    async def charge(order: str, cents: int) -> str:
        """Take the money."""
        return f"{order}:{cents}"

    assert isinstance(charge, Operation)
    assert (charge.name, charge.kind, charge.agent) == ("payments.charge", StepKind.OPERATION, "payments")
    assert (charge.complete_seconds, charge.irreversible, charge.has_undo) == (60.0, True, False)
    assert charge.__doc__ == "Take the money."
    assert dict(agent.operations) == {"payments.charge": charge}


async def test_operations_and_undos_can_be_called_as_the_functions_they_are() -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge(order: str, cents: int) -> str:
        return f"{order}:{cents}"

    @charge.undo
    async def refund(receipt: str | None, order: str, cents: int) -> str:
        return f"{receipt}|{order}|{cents}"

    @agent.operation()
    def count(numbers: list[int]) -> int:
        return len(numbers)

    assert await charge("o1", cents=5) == "o1:5"
    assert await refund("r1", "o1", cents=5) == "r1|o1|5"
    assert await count([1, 2]) == 2
    assert charge.has_undo


async def test_type_checkers_know_what_operations_give() -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge(order: str, options: dict[str, Any]) -> dict[str, Any]:
        return options

    @agent.operation()
    def count(numbers: list[int]) -> int:
        return len(numbers)

    @agent.operation()
    async def name(order: str) -> str:
        return order

    assert_type(await charge("o1", {}), dict[str, Any])
    assert_type(await asyncio.gather(count([1]), name("o1")), tuple[int, str])


def test_an_operation_can_have_another_name() -> None:
    agent = Agent("payments")

    @agent.operation(name="charge-card")
    async def charge() -> None: ...

    assert charge.name == "payments.charge-card"


@pytest.mark.parametrize("name", ["", "a b", "a/b", "a.b", "ä", "x" * 101, 5, None])
def test_bad_names_are_refused(name: Any) -> None:
    with pytest.raises(DeclarationError, match="expected a name of 1-100 of"):
        Agent(name)


def test_bad_names_of_operations_are_refused() -> None:
    with pytest.raises(DeclarationError, match="operation of Agent 'payments': expected a name"):
        Agent("payments").operation(name="a.b")(lambda: None)


@pytest.mark.parametrize("concurrency", [0, -1, 100_001, "8", 1.5])
def test_concurrency_out_of_range_is_refused(concurrency: Any) -> None:
    with pytest.raises(DeclarationError, match="expected concurrency from 1 to 100,000"):
        Agent("payments", concurrency=concurrency)


def test_two_operations_of_one_name_are_refused() -> None:
    agent = Agent("payments")
    agent.operation(name="charge")(lambda: None)
    with pytest.raises(DeclarationError, match=r"operation payments\.charge: expected one declaration, found two"):
        agent.operation(name="charge")(lambda: None)


def test_a_second_undo_is_refused() -> None:
    charge = Agent("payments").operation(name="charge")(lambda order: None)
    charge.undo(lambda result, order: None)
    with pytest.raises(DeclarationError, match="expected one declaration, found two"):
        charge.undo(lambda result, order: None)


@pytest.mark.parametrize("undo", [lambda: None, lambda result: None, lambda result, order, more: None])
def test_an_undo_takes_the_result_and_the_arguments(undo: Callable[..., None]) -> None:
    charge = Agent("payments").operation(name="charge")(lambda order: None)
    with pytest.raises(DeclarationError, match=r"undo of payments\.charge: expected 2 parameters"):
        charge.undo(undo)
    assert not charge.has_undo


async def test_a_workflow_cannot_call_an_undo(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge() -> None: ...

    @charge.undo
    async def refund(result: None) -> None: ...

    monkeypatch.setattr("stepward.agent.declaration.current_caller", Caller)
    with pytest.raises(DeclarationError, match=r"undo of payments\.charge: .*found a workflow calling it"):
        await refund(None)


def test_generators_and_values_are_refused() -> None:
    def numbers() -> Any:
        yield 1

    with pytest.raises(DeclarationError, match="found a generator"):
        Agent("payments").operation()(numbers)
    with pytest.raises(DeclarationError, match="expected a function"):
        Agent("payments").operation(name="x")(5)  # type: ignore[call-overload]


def test_a_bad_complete_by_is_refused() -> None:
    with pytest.raises(InvalidDuration, match=r"complete_by of payments\.charge"):
        Agent("payments").operation(name="charge", complete_by="soon")(lambda: None)


@pytest.mark.parametrize(
    ("rate", "calls", "per"),
    [("50/s", 50, 1.0), ("100/m", 100, 60.0), ("3/500ms", 3, 0.5), ((7, "1h"), 7, 3600.0)],
)
def test_rates(rate: Any, calls: int, per: float) -> None:
    parsed = Agent("payments", rate=rate).rate
    assert parsed is not None
    assert (parsed.calls, parsed.per_seconds) == (calls, per)


@pytest.mark.parametrize("rate", ["fast", "0/s", "5/x", 5, (0, "1s"), ("5", "1s"), (5,), "5/0s"])
def test_bad_rates_are_refused(rate: Any) -> None:
    with pytest.raises((DeclarationError, InvalidDuration), match="rate of Agent 'payments'"):
        Agent("payments", rate=rate)


@pytest.mark.parametrize("policy", [{"breaker": None}, {"breaker": 5}, {"retry": None}, {"retry": 3}])
def test_a_policy_of_another_type_is_refused_where_it_is_declared(policy: dict[str, Any]) -> None:
    ((what, found),) = policy.items()
    with pytest.raises(DeclarationError, match=rf"^Agent 'payments': expected {what} to be a .*, found {found}; pass "):
        Agent("payments", **policy)
