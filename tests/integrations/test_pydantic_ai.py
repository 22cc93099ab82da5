"""Agents of Pydantic AI in workflows: what is recorded, repeated, refused, approved and undone."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent as ModelLoop
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from examples.language_model import with_pydantic_ai
from examples.language_model.books import Books
from stepward import App, Retry, Supervision, TaskFailed, TaskUndone, workflow
from stepward.errors import DeclarationError
from stepward.integrations.pydantic_ai import PydanticAgent, dump_messages, load_messages, operation_tool
from stepward.integrations.pydantic_ai.messages import dump_parameters, load_parameters
from stepward.testing import AppEnvironment, environment, explore, replay
from tests.integrations import desk_calls
from tests.integrations.desk_calls import (
    approvals,
    ask_person,
    asked,
    asked_inputs,
    entries,
    history_of,
    orders,
    refund,
)

Turn = Callable[[list[Any]], ModelResponse]


@pytest.fixture(autouse=True)
async def forgotten() -> None:
    desk_calls.forget()


def results_of(messages: list[ModelMessage]) -> list[Any]:
    """What the tools have returned to the model so far."""
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    return [part.content for part in parts if isinstance(part, ToolReturnPart)]


def refunding(results: list[Any]) -> ModelResponse:
    """Refund an order, and tell what came of it."""
    part = (
        TextPart(str(results[0]))
        if results
        else ToolCallPart("refund", {"order": "A-1", "cents": 100}, tool_call_id="call-1")
    )
    return ModelResponse(parts=[part], usage=RequestUsage(input_tokens=7, output_tokens=2))


def desk_app(
    turn: Turn, tools: list[Any] | None = None, *, then: Any = "undo", threshold: int = 0, **agent: Any
) -> App:
    """An application whose model answers with ``turn``."""

    async def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return turn(results_of(messages))

    loop = ModelLoop(FunctionModel(model), name="desk", tools=tools or [])
    desk = PydanticAgent(loop, retry=Retry(initial="10ms"))

    @workflow(supervision=Supervision(threshold=threshold, then=then))
    async def support(question: str) -> str:
        return (await desk.run(question)).output

    return App("desk", workflows=[support], agents=[desk, orders, approvals])


async def test_turns_and_tool_calls_are_steps_whose_tokens_are_summed() -> None:
    async with environment(desk_app(refunding, [operation_tool(refund)])) as env:
        task = await env.client.submit("support", "broken")
        assert await task.result() == "refunded 100 for A-1"
        names = [step.key for step in await task.steps() if step.kind == "operation"]
        assert names == ["desk.model_request/1", "orders.refund/1", "desk.model_request/2"]
        assert await task.value("usage") == {"requests": 2, "input_tokens": 14, "output_tokens": 4}
        assert await entries(task, "turns") == [
            {
                "agent": "desk",
                "text": "",
                "tool_calls": [{"tool": "refund", "arguments": {"order": "A-1", "cents": 100}}],
            },
            {"agent": "desk", "text": "refunded 100 for A-1", "tool_calls": []},
        ]


async def test_a_recorded_conversation_is_replayed_to_the_same_requests() -> None:
    app = desk_app(refunding, [operation_tool(refund)])
    async with environment(app) as env:
        task = await env.client.submit("support", "broken")
        await task.result()
        replay(app, await history_of(env, task))


async def test_the_same_conversation_is_asked_for_with_the_same_inputs() -> None:
    async with environment(desk_app(refunding, [operation_tool(refund)])) as env:
        assert await asked_inputs(env) == await asked_inputs(env)


@pytest.mark.parametrize("at", ["agent.call.before", "agent.call.after", "turn.finish.after"])
async def test_a_process_that_dies_costs_no_turn_that_was_recorded(at: str) -> None:
    turns: list[int] = []

    def turn(results: list[Any]) -> ModelResponse:
        turns.append(len(results))
        return refunding(results)

    async with environment(desk_app(turn, [operation_tool(refund)])) as env:
        task = await env.client.submit("support", "broken")
        await env.crash(at=at)
        assert await task.result() == "refunded 100 for A-1"
        recorded = {"agent.call.before": 0, "agent.call.after": 1, "turn.finish.after": 0}[at]
        assert (turns.count(0), turns.count(1)) == (1 + recorded, 1)
        assert await task.value("usage") == {"requests": 2, "input_tokens": 14, "output_tokens": 4}


def test_no_turn_is_asked_for_again_after_the_next_one_whatever_strikes() -> None:
    app = desk_app(refunding, [operation_tool(refund)], threshold=50)

    async def ask(env: AppEnvironment) -> None:
        task = await env.client.submit("support", "broken")
        assert await task.result() == "refunded 100 for A-1"
        keys = [call.idempotency_key for call in env.calls(operation(app))]
        assert [key for key, _ in groupby(keys)] == list(dict.fromkeys(keys))
        assert await task.value("usage") == {"requests": 2, "input_tokens": 14, "output_tokens": 4}

    explore(app, ask, seeds=30)


def failing(error: Exception, times: int) -> Turn:
    """Fail that often, and answer then."""
    left = [error] * times

    def turn(results: list[Any]) -> ModelResponse:
        if left:
            raise left.pop()
        return ModelResponse(parts=[TextPart("fine")])

    return turn


async def test_a_rate_limit_is_waited_for_as_long_as_the_provider_asks() -> None:
    limited = ModelHTTPError(429, "fake", headers={"Retry-After": "7"})
    app = desk_app(failing(limited, 2))
    async with environment(app) as env:
        assert await (await env.client.submit("support", "hello")).result() == "fine"
        times = [call.at for call in env.calls(operation(app))]
        assert [7 <= later - earlier < 8 for earlier, later in pairwise(times)] == [True, True]


@pytest.mark.parametrize("status", [400, 401, 404, 409, 413, 422])
async def test_a_refusal_of_the_provider_is_not_repeated(status: int) -> None:
    app = desk_app(failing(ModelHTTPError(status, "fake"), 9), then="alert")
    async with environment(app) as env:
        with pytest.raises(TaskFailed, match=str(status)):
            await (await env.client.submit("support", "hello")).result()
        assert len(env.calls(operation(app))) == 1


@pytest.mark.parametrize("error", [ModelHTTPError(503, "fake"), ModelAPIError("fake", "the connection was lost")])
async def test_a_turn_that_is_in_doubt_is_asked_for_again_under_its_key(error: Exception) -> None:
    app = desk_app(failing(error, 2))
    async with environment(app) as env:
        assert await (await env.client.submit("support", "hello")).result() == "fine"
        calls = env.calls(operation(app))
        assert (len(calls), len({call.idempotency_key for call in calls})) == (3, 1)


async def test_an_approved_call_runs_once_its_token_is_used() -> None:
    async with environment(desk_app(refunding, [operation_tool(refund, approval=ask_person)])) as env:
        task = await env.client.submit("support", "broken")
        tool, arguments, token = await asked()
        assert (tool, arguments) == ("orders.refund", {"order": "A-1", "cents": 100})
        await env.skip("3h")
        assert desk_calls.refunded == []
        await env.client.complete(token, True, by="grace")
        assert await task.result() == "refunded 100 for A-1"


@pytest.mark.parametrize("answer", ["no", "fails", "is silent"])
async def test_a_call_without_approval_is_refused_and_not_made(answer: str) -> None:
    app = desk_app(refunding, [operation_tool(refund, approval=ask_person)], then="raise")
    async with environment(app) as env:
        task = await env.client.submit("support", "broken")
        _, _, token = await asked()
        if answer == "no":
            await env.client.complete(token, False)
        elif answer == "fails":
            await env.client.fail(token, "too much money")
        result = await task.result()
        assert result.startswith("The call was not approved.")
        assert desk_calls.refunded == []


async def test_a_tool_is_undone_with_its_task() -> None:
    def turn(results: list[Any]) -> ModelResponse:
        if results:
            raise ModelHTTPError(400, "fake")
        return refunding(results)

    async with environment(desk_app(turn, [operation_tool(refund)])) as env:
        task = await env.client.submit("support", "broken")
        with pytest.raises(TaskUndone):
            await task.result()
        assert desk_calls.taken_back == ["A-1"]


async def test_plain_functions_of_the_agent_run_in_the_workflow() -> None:
    loop = ModelLoop(TestModel(custom_output_text="fine"), name="plain")

    @loop.instructions
    def hint() -> str:
        return "Be brief."

    @loop.tool_plain
    def today() -> str:
        """The day."""
        return "Thursday"

    agent = PydanticAgent(loop)

    @workflow
    async def plain(question: str) -> str:
        result = await agent.run(question)
        history = load_messages(dump_messages(result.all_messages()))
        again = await agent.run("And now?", message_history=history)
        return f"{result.output} {len(again.all_messages())}"

    app = App("plain", workflows=[plain], agents=[agent])
    async with environment(app) as env:
        task = await env.client.submit("plain", "hello")
        assert await task.result() == "fine 6"
        replay(app, await history_of(env, task))


async def test_the_example_repeats_no_turn_when_a_tool_call_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGUAGE_MODEL_BOOKS", str(tmp_path / "books"))
    books = Books(str(tmp_path / "books"))
    async with environment(with_pydantic_ai.make_app()) as env:
        task = await env.client.submit("support", "broken")
        await env.skip("1s")
        await env.client.complete(books.token() or "", True)
        assert await task.result() == "Done: refunded 4200 cents for A-1."
    assert len(set(books.keys("turn"))) == len(books.keys("turn")) == 3
    assert (len(books.keys("refund asked")), len(books.keys("refund paid"))) == (2, 1)


def test_parameters_keep_the_order_of_a_schema_and_have_sets_in_order() -> None:
    properties: dict[str, Any] = {"reason": {"type": "string"}, "answer": {"type": "string"}}
    tool = ToolDefinition(name="end", parameters_json_schema={"type": "object", "properties": properties})
    dumped = dump_parameters(ModelRequestParameters(function_tools=[tool], revealed_tool_names={"z", "a", "m"}))
    assert list(load_parameters(dumped).function_tools[0].parameters_json_schema["properties"]) == list(properties)
    assert json.loads(dumped)["revealed_tool_names"] == ["a", "m", "z"]


def test_what_cannot_be_durable_is_refused() -> None:
    with pytest.raises(DeclarationError, match="expected an agent with a name and a model"):
        PydanticAgent(ModelLoop(TestModel()))
    with pytest.raises(DeclarationError, match="expected an operation, a step or a workflow"):
        operation_tool(len)  # type: ignore[arg-type]


def operation(app: App) -> Any:
    """The operation by which the model is asked."""
    return next(agent for agent in app.agents if agent.name == "desk").operations["desk.model_request"]
