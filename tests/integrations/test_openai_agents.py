"""Agents of the OpenAI Agents SDK in workflows: what is recorded, repeated, refused, approved and undone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from agents import Agent as ModelLoop
from agents import Model, ModelProvider, ModelResponse, ModelSettings, TResponseInputItem, Usage
from agents.items import TResponseStreamEvent
from agents.testing import assistant_message, function_call
from pydantic import BaseModel

from examples.language_model import with_openai_agents
from examples.language_model.books import Books
from stepward import App, Retry, Supervision, TaskFailed, TaskUndone, workflow
from stepward.errors import DeclarationError
from stepward.integrations.openai_agents import OpenAIAgent, operation_tool
from stepward.testing import environment, replay
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

Turn = Callable[[list[str]], ModelResponse]
REQUEST = httpx2.Request("POST", "http://127.0.0.1/responses")


@pytest.fixture(autouse=True)
async def forgotten() -> None:
    desk_calls.forget()


class Scripted(Model, ModelProvider):
    """A model that answers to what the tools have returned so far, and the provider of it."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.asked: list[tuple[Any, ...]] = []

    def get_model(self, model_name: str | None) -> Model:
        return self

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        model_settings: ModelSettings,
        *args: Any,
        **kwargs: Any,
    ) -> ModelResponse:
        self.asked.append((model_settings, *args))
        items: list[Any] = [] if isinstance(input, str) else list(input)
        return self.turn([item["output"] for item in items if item.get("type") == "function_call_output"])

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[TResponseStreamEvent]:
        raise NotImplementedError


def answered(item: Any) -> ModelResponse:
    usage = Usage(requests=1, input_tokens=7, output_tokens=2, total_tokens=9)
    return ModelResponse(output=[item], usage=usage, response_id=None)


def refunding(results: list[str]) -> ModelResponse:
    """Refund an order, and tell what came of it."""
    if results:
        return answered(assistant_message(results[0]))
    return answered(function_call("refund", {"order": "A-1", "cents": 100}, call_id="call-1"))


def desk_app(turn: Turn, tools: list[Any] | None = None, *, then: Any = "undo") -> App:
    """An application whose model answers with ``turn``."""
    desk = OpenAIAgent(ModelLoop("desk", tools=tools or []), provider=Scripted(turn), retry=Retry(initial="10ms"))

    @workflow(supervision=Supervision(threshold=0, then=then))
    async def support(question: str) -> str:
        return str((await desk.run(question)).final_output)

    return App("desk", workflows=[support], agents=[desk, orders, approvals])


async def test_turns_and_tool_calls_are_steps_whose_tokens_are_summed() -> None:
    app = desk_app(refunding, [operation_tool(refund)])
    async with environment(app) as env:
        task = await env.client.submit("support", "broken")
        assert await task.result() == "refunded 100 for A-1"
        names = [step.key for step in await task.steps() if step.kind == "operation"]
        assert names == ["desk.model_request/1", "orders.refund/1", "desk.model_request/2"]
        assert await task.value("usage") == {"requests": 2, "input_tokens": 14, "output_tokens": 4}
        texts = [turn["text"] for turn in await entries(task, "turns")]
        assert texts == ["", "refunded 100 for A-1"]
        replay(app, await history_of(env, task))


async def test_the_same_conversation_is_asked_for_with_the_same_inputs() -> None:
    async with environment(desk_app(refunding, [operation_tool(refund)])) as env:
        assert await asked_inputs(env) == await asked_inputs(env)


@pytest.mark.parametrize("at", ["agent.call.before", "agent.call.after", "turn.finish.after"])
async def test_a_process_that_dies_costs_no_turn_that_was_recorded(at: str) -> None:
    turns: list[int] = []

    def turn(results: list[str]) -> ModelResponse:
        turns.append(len(results))
        return refunding(results)

    async with environment(desk_app(turn, [operation_tool(refund)])) as env:
        task = await env.client.submit("support", "broken")
        await env.crash(at=at)
        assert await task.result() == "refunded 100 for A-1"
        recorded = {"agent.call.before": 0, "agent.call.after": 1, "turn.finish.after": 0}[at]
        assert (turns.count(0), turns.count(1)) == (1 + recorded, 1)


def refused(status: int, headers: dict[str, str] | None = None, code: str | None = None) -> openai.APIStatusError:
    response = httpx2.Response(status, headers=headers, request=REQUEST)
    return openai.APIStatusError(f"status {status}", response=response, body={"code": code})


def failing(error: Exception, times: int) -> Turn:
    """Fail that often, and answer then."""
    left = [error] * times

    def turn(results: list[str]) -> ModelResponse:
        if left:
            raise left.pop()
        return answered(assistant_message("fine"))

    return turn


async def test_a_rate_limit_is_waited_for_as_long_as_the_provider_asks() -> None:
    app = desk_app(failing(refused(429, {"Retry-After": "7"}), 2))
    async with environment(app) as env:
        assert await (await env.client.submit("support", "hello")).result() == "fine"
        times = [call.at for call in env.calls(operation(app))]
        assert [7 <= later - earlier < 8 for earlier, later in pairwise(times)] == [True, True]


@pytest.mark.parametrize("error", [refused(400), refused(404), refused(429, code="insufficient_quota")])
async def test_a_refusal_of_the_provider_is_not_repeated(error: Exception) -> None:
    app = desk_app(failing(error, 9), then="alert")
    async with environment(app) as env:
        with pytest.raises(TaskFailed, match="status 4"):
            await (await env.client.submit("support", "hello")).result()
        assert len(env.calls(operation(app))) == 1


@pytest.mark.parametrize("error", [refused(503), openai.APITimeoutError(REQUEST)])
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
        assert desk_calls.refunded == []
        await env.client.complete(token, True, by="grace")
        assert await task.result() == "refunded 100 for A-1"


async def test_a_call_without_approval_is_refused_and_not_made() -> None:
    async with environment(desk_app(refunding, [operation_tool(refund, approval=ask_person)])) as env:
        task = await env.client.submit("support", "broken")
        _, _, token = await asked()
        await env.client.fail(token, "too much money")
        assert "too much money" in await task.result()
        assert desk_calls.refunded == []


async def test_a_tool_is_undone_with_its_task() -> None:
    def turn(results: list[str]) -> ModelResponse:
        if results:
            raise refused(400)
        return refunding(results)

    async with environment(desk_app(turn, [operation_tool(refund)])) as env:
        task = await env.client.submit("support", "broken")
        with pytest.raises(TaskUndone):
            await task.result()
        assert desk_calls.taken_back == ["A-1"]


async def test_a_tool_that_fails_for_good_undoes_the_task() -> None:
    async with environment(desk_app(refunding, [operation_tool(refund)])) as env:
        env.fail(refund, times=9)
        with pytest.raises(TaskUndone):
            await (await env.client.submit("support", "broken")).result()


class Verdict(BaseModel):
    """A structured output."""

    refund: bool


async def test_the_model_gets_settings_tools_handoffs_and_the_schema_of_the_output() -> None:
    model = Scripted(lambda results: answered(assistant_message('{"refund": true}')))
    loop = ModelLoop(
        "judge",
        tools=[operation_tool(refund)],
        handoffs=[ModelLoop("clerk")],
        output_type=Verdict,
        model_settings=ModelSettings(temperature=0.5),
    )
    judge = OpenAIAgent(loop, provider=model)

    @workflow
    async def decide(question: str) -> bool:
        output: Verdict = (await judge.run(question)).final_output
        return output.refund

    async with environment(App("court", workflows=[decide], agents=[judge, orders])) as env:
        assert await (await env.client.submit("decide", "broken?")).result() is True
    (settings, tools, output, handoffs, _) = model.asked[0]
    assert (settings.temperature, list(settings.extra_headers)) == (0.5, ["Idempotency-Key"])
    assert [tool.name for tool in tools] == ["refund"]
    assert list(tools[0].params_json_schema["properties"]) == ["order", "cents"]
    assert list(output.json_schema()["properties"]) == ["refund"]
    assert [handoff.agent_name for handoff in handoffs] == ["clerk"]


async def test_the_example_repeats_no_turn_when_a_tool_call_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGUAGE_MODEL_BOOKS", str(tmp_path / "books"))
    books = Books(str(tmp_path / "books"))
    async with environment(with_openai_agents.make_app()) as env:
        task = await env.client.submit("support", "broken")
        await env.skip("1s")
        await env.client.complete(books.token() or "", True)
        assert await task.result() == "Done: refunded 4200 cents for A-1."
    assert len(set(books.keys("turn"))) == len(books.keys("turn")) == 3
    assert (len(books.keys("refund asked")), len(books.keys("refund paid"))) == (2, 1)


def test_a_model_that_is_not_named_is_refused() -> None:
    with pytest.raises(DeclarationError, match="expected agent 'desk' to name its model"):
        OpenAIAgent(ModelLoop("desk", model=Scripted(refunding)))


def operation(app: App) -> Any:
    """The operation by which the model is asked."""
    return next(agent for agent in app.agents if agent.name == "desk").operations["desk.model_request"]
