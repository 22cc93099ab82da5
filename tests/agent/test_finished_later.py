"""Operations that defer their step to the holder of its completion token."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepward.agent.declaration import Agent
from stepward.errors import StepwardError
from stepward.model.current_step import CurrentStep, FinishedLater, current_step
from stepward.model.messages.completion_tokens import Claim, Token, read_token, signer
from stepward.model.messages.requests import Outcome, Request
from stepward.policies import CircuitBreaker, Retry
from tests.agent.conftest import Start

KEY = b"k" * 32
SIGN = signer("shop", KEY)


def asked(**fields: Any) -> Request:
    given: dict[str, Any] = {
        "task": "uid-1",
        "task_id": "order-1",
        "run": 1,
        "key": "approvals.ask/1",
        "attempt": 1,
        "agent": "approvals",
        "operation": "approvals.ask",
        "undo": False,
        "input": b"[]",
        "complete_by": 1e9,
        "idempotency_key": "uid-1/1/approvals.ask/1",
        "undoes": None,
        "reply_to": "replies.s1",
        "priority": 5,
    }
    return Request(**{**given, **fields})


async def test_an_operation_hands_out_its_token_and_leaves(start: Start) -> None:
    agent = Agent("approvals")
    tokens: list[str] = []

    @agent.operation()
    async def ask(order: str) -> bool:
        step = current_step()
        tokens.append(step.completion_token)
        step.finish_later()

    world = start(agent, sign=SIGN)
    reply = await world.call("approvals.ask", "o1", attempt=3)
    assert (reply.outcome, reply.output, reply.error, reply.calls) == (Outcome.DEFERRED, None, None, 1)
    assert world.runner.in_flight == 0
    claim = Claim("shop", "uid-1", 1, "approvals.ask/1", 3)
    assert read_token(tokens[0], KEY) == Token(claim, is_genuine=True)


async def test_a_plain_function_leaves_the_same_way(start: Start) -> None:
    agent = Agent("approvals")

    @agent.operation()
    def ask(order: str) -> bool:
        assert current_step().completion_token
        return current_step().finish_later()

    world = start(agent, sign=SIGN)
    reply = await world.call("approvals.ask", "o1", complete_by=world.now() + 1e9)
    assert reply.outcome is Outcome.DEFERRED


async def test_no_except_exception_holds_it_up(start: Start) -> None:
    agent = Agent("approvals")
    cleaned: list[str] = []

    @agent.operation()
    async def ask() -> bool:
        try:
            assert current_step().completion_token
            current_step().finish_later()
        except Exception:
            return False
        finally:
            cleaned.append("cleaned")

    world = start(agent, sign=SIGN)
    assert (await world.call("approvals.ask")).outcome is Outcome.DEFERRED
    assert cleaned == ["cleaned"]


async def test_it_counts_as_an_answer_of_the_service(start: Start) -> None:
    agent = Agent("approvals", retry=Retry(attempts=1), breaker=CircuitBreaker(failures=2))

    @agent.operation()
    async def ask(fails: bool) -> bool:
        if fails:
            raise OSError("no answer")
        assert current_step().completion_token
        current_step().finish_later()

    world = start(agent, sign=SIGN)
    for number, fails in enumerate([True, False, True]):
        await world.call("approvals.ask", fails, task=f"uid-{number}")
    assert world.breaker() == "closed"


async def test_finish_later_without_a_token_handed_out_is_refused(start: Start) -> None:
    agent = Agent("approvals", retry=Retry(attempts=1))

    @agent.operation()
    async def ask() -> bool:
        current_step().finish_later()

    world = start(agent, sign=SIGN)
    reply = await world.call("approvals.ask")
    assert reply.outcome is Outcome.GAVE_UP
    assert b"expected code that reads completion_token first" in (reply.error or b"")


async def test_from_a_task_of_its_own_the_operation_cannot_be_left(start: Start) -> None:
    agent = Agent("approvals", retry=Retry(attempts=1))

    @agent.operation()
    async def ask() -> bool:
        async def leave() -> None:
            assert current_step().completion_token
            current_step().finish_later()

        async with asyncio.TaskGroup() as group:
            group.create_task(leave())
        return True

    world = start(agent, sign=SIGN)
    reply = await world.call("approvals.ask")
    assert reply.outcome is Outcome.GAVE_UP
    assert world.runner.in_flight == 0


async def test_where_nothing_is_signed_there_is_no_token(start: Start) -> None:
    agent = Agent("approvals", retry=Retry(attempts=1))
    errors: list[StepwardError] = []

    @agent.operation()
    async def ask() -> None:
        with pytest.raises(StepwardError, match="expected an operation of an Agent") as caught:
            assert current_step().completion_token
        errors.append(caught.value)

    world = start(agent)
    await world.call("approvals.ask")
    assert len(errors) == 1


def test_a_token_is_the_same_text_for_the_same_attempt_and_for_no_other() -> None:
    first = SIGN(asked())
    assert SIGN(asked()) == first
    others = [
        SIGN(asked(attempt=2)),
        SIGN(asked(run=2)),
        SIGN(asked(key="approvals.ask/2")),
        SIGN(asked(key="approvals.ask/1~undo", undo=True)),
        SIGN(asked(task="uid-2")),
        signer("other", KEY)(asked()),
        signer("shop", b"o" * 32)(asked()),
    ]
    assert len({first, *others}) == len(others) + 1


def test_a_token_that_is_changed_anywhere_is_not_genuine() -> None:
    token = SIGN(asked())
    for place, letter in enumerate(token):
        for other in "A0.":
            changed = token[:place] + other + token[place + 1 :]
            found = read_token(changed, KEY)
            # The last letters of base64 hold bits that stand for nothing.
            is_same = found is not None and found.is_genuine
            assert other == letter or not is_same or place in (token.index(".") - 1, len(token) - 1)
    for length in range(len(token)):
        found = read_token(token[:length], KEY)
        assert found is None or not found.is_genuine


@pytest.mark.parametrize(
    "text", ["", ".", "a.b", "ä.ä", "W10.W10", "x" * 20_000, "\0", "WzEsMiwzXQ.AA", "[[[.[[", b"a.b", None, 7]
)
def test_what_is_no_token_is_none(text: object) -> None:
    assert read_token(text, KEY) is None


def test_a_step_beside_the_agents_has_neither_token_nor_end_from_outside() -> None:
    step = CurrentStep(asked(), lambda: 0.0, lambda request, progress: None, [])
    with pytest.raises(StepwardError, match="found a step of another kind"):
        assert step.completion_token
    with pytest.raises(StepwardError, match="expected code that reads completion_token first"):
        step.finish_later()
    assert not issubclass(FinishedLater, Exception)


def test_the_whole_of_a_long_token_is_signed() -> None:
    """However long the names are: the attempt, which stands last, is signed as well."""
    long = {"task": "u" * 500, "key": f"{'approvals' * 50}.ask/1"}
    body, _, signature = SIGN(asked(**long)).partition(".")
    other, _, _ = SIGN(asked(**long, attempt=2)).partition(".")
    assert body != other
    forged = read_token(f"{other}.{signature}", KEY)
    assert forged is not None
    assert not forged.is_genuine
