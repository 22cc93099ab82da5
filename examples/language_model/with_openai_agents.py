"""The desk with an agent of the OpenAI Agents SDK; a ``Model`` of our own stands for the provider, and bills each
turn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agents import Agent as ModelLoop
from agents import Model, ModelProvider, ModelResponse, ModelSettings, TResponseInputItem, Usage
from agents.items import TResponseStreamEvent
from agents.testing import assistant_message, function_call

from examples.language_model.shop import LEASE, approvals, ask_person, books, order_status, orders, refund
from stepward import App, Supervision, workflow
from stepward.integrations.openai_agents import OpenAIAgent, operation_tool


class FakeModel(Model):
    """Looks up the order, refunds it, and tells: a turn each."""

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        model_settings: ModelSettings,
        *args: Any,
        **kwargs: Any,
    ) -> ModelResponse:
        headers = model_settings.extra_headers or {}
        books().count("turn", str(headers["Idempotency-Key"]))
        items: list[Any] = [] if isinstance(input, str) else list(input)
        results = [item["output"] for item in items if item.get("type") == "function_call_output"]
        calls = [
            function_call("order_status", {"order": "A-1"}, call_id="call-1"),
            function_call("refund", {"order": "A-1", "cents": 4200}, call_id="call-2"),
        ]
        item = calls[len(results)] if len(results) < len(calls) else assistant_message(f"Done: {results[-1]}.")
        usage = Usage(requests=1, input_tokens=100, output_tokens=10, total_tokens=110)
        return ModelResponse(output=[item], usage=usage, response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[TResponseStreamEvent]:
        raise NotImplementedError


class FakeProvider(ModelProvider):
    """Finds the fake under every name."""

    def get_model(self, model_name: str | None) -> Model:
        return FakeModel()


desk = OpenAIAgent(
    ModelLoop(
        "desk",
        instructions="You help customers of a shop.",
        tools=[operation_tool(order_status), operation_tool(refund, approval=ask_person)],
    ),
    provider=FakeProvider(),
    complete_by="30s",
)


@workflow(supervision=Supervision(then="undo"))
async def support(question: str) -> str:
    """Answer a customer."""
    result = await desk.run(question)
    return str(result.final_output)


def make_app(store: str | None = None) -> App:
    """The application, on the store of the settings if none is named."""
    return App("desk", workflows=[support], agents=[desk, orders, approvals], store=store, lease=LEASE)
