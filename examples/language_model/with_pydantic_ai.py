"""The desk with an agent of Pydantic AI; ``FunctionModel`` stands for the provider, and bills each turn."""

from __future__ import annotations

from pydantic_ai import Agent as ModelLoop
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from examples.language_model.shop import LEASE, approvals, ask_person, books, order_status, orders, refund
from stepward import App, Supervision, workflow
from stepward.integrations.pydantic_ai import PydanticAgent, operation_tool


async def fake_model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Look up the order, refund it, and tell: a turn each."""
    headers = (info.model_settings or {}).get("extra_headers") or {}
    books().count("turn", headers["Idempotency-Key"])
    results = [
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    parts: list[TextPart | ToolCallPart] = [
        ToolCallPart("order_status", {"order": "A-1"}),
        ToolCallPart("refund", {"order": "A-1", "cents": 4200}),
    ]
    part = parts[len(results)] if len(results) < len(parts) else TextPart(f"Done: {results[-1].content}.")
    return ModelResponse(parts=[part], usage=RequestUsage(input_tokens=100, output_tokens=10))


desk = PydanticAgent(
    ModelLoop(
        FunctionModel(fake_model),
        name="desk",
        instructions="You help customers of a shop.",
        tools=[operation_tool(order_status), operation_tool(refund, approval=ask_person)],
    ),
    complete_by="30s",
)


@workflow(supervision=Supervision(then="undo"))
async def support(question: str) -> str:
    """Answer a customer."""
    result = await desk.run(question)
    return result.output


def make_app(store: str | None = None) -> App:
    """The application, on the store of the settings if none is named."""
    return App("desk", workflows=[support], agents=[desk, orders, approvals], store=store, lease=LEASE)
