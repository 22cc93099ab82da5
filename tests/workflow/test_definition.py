"""Declaring workflows and local steps."""

from __future__ import annotations

import asyncio
from typing import Any, assert_type

import pytest

from stepward.errors import DeclarationError, InvalidDuration
from stepward.model.states import StepKind
from stepward.policies import Supervision
from stepward.workflow.definition import step, workflow
from tests.workflow.play import Play


@workflow
async def bare(number: int) -> str:
    return str(number)


@workflow(name="shop.order", version="2.1", complete_by="1h", supervision=Supervision(then="undo"))
async def declared(number: int) -> str:
    return str(number)


@step()
async def asynchronous(number: int) -> str:
    return str(number)


@step(complete_by=5, name="stock.count")
def plain(number: int) -> str:
    return str(number)


@step(transaction=True)
async def transactional(connection: Any, number: int) -> str:
    return f"{connection} {number}"


def test_defaults_and_settings() -> None:
    assert (bare.name, bare.version, bare.kind, bare.complete_seconds) == ("bare", "1", StepKind.CHILD, None)
    assert bare.supervision == Supervision()
    assert (declared.name, declared.version, declared.complete_seconds) == ("shop.order", "2.1", 3600)
    assert declared.supervision.last == "undo"
    assert (asynchronous.kind, asynchronous.complete_seconds) == (StepKind.LOCAL, 30)
    assert (plain.name, plain.complete_seconds) == ("stock.count", 5)
    assert transactional.kind is StepKind.TRANSACTION
    assert "connection" not in transactional.signature.text()


def test_outside_a_workflow_a_call_is_a_call() -> None:
    for result in (asyncio.run(bare(1)), asyncio.run(asynchronous(1)), asyncio.run(plain(1))):
        assert_type(result, str)
        assert result == "1"


def test_a_transactional_step_is_called_without_its_connection() -> None:
    @workflow
    async def transacting() -> str:
        result = await transactional(7)
        assert_type(result, str)
        return result

    play = Play(transacting)
    assert play.decisions.calls[0].input == b"[7]"
    play.finish("transactional/1", "done")
    assert play.result == "done"


def test_a_workflow_must_be_async() -> None:
    def plain() -> None: ...

    async def generating() -> Any:
        yield 1

    with pytest.raises(DeclarationError, match="expected an async def, found a def"):
        workflow(plain)  # type: ignore[arg-type]
    with pytest.raises(DeclarationError, match="found an async generator"):
        workflow(generating)
    with pytest.raises(DeclarationError, match="expected a function"):
        workflow(7)  # type: ignore[call-overload]


async def body() -> None: ...


@pytest.mark.parametrize("name", ["", "a b", "a/1", "a@2", "x" * 201, "ümlaut", "a\n"])
def test_names_and_versions_keep_to_their_characters(name: str) -> None:
    with pytest.raises(DeclarationError, match="name of workflow: expected 1-200 of"):
        workflow(name=name)(body)
    with pytest.raises(DeclarationError, match="version of workflow body"):
        workflow(version=name)(body)
    with pytest.raises(DeclarationError, match="name of step"):
        step(name=name)(body)


@pytest.mark.parametrize("name", ["timer", "side_effect", "continue_as_new", "signal:go"])
def test_names_of_the_engine_are_taken(name: str) -> None:
    with pytest.raises(DeclarationError, match="not the engine's own"):
        workflow(name=name)(body)
    with pytest.raises(DeclarationError, match="not the engine's own"):
        step(name=name)(body)


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(DeclarationError, match="<lambda>"):
        step()(lambda: None)


def test_durations_and_policies_are_checked() -> None:
    with pytest.raises(InvalidDuration, match=r"body\.complete_by"):
        workflow(complete_by="-1s")(body)
    with pytest.raises(InvalidDuration, match=r"body\.complete_by"):
        step(complete_by=0)(body)
    with pytest.raises(DeclarationError, match="expected a Supervision"):
        workflow(supervision="undo")(body)  # type: ignore[call-overload]


def test_a_transaction_needs_a_parameter_for_its_connection() -> None:
    with pytest.raises(DeclarationError, match="first parameter for the connection"):
        step(transaction=True)(body)  # type: ignore[arg-type]
