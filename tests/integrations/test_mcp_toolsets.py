"""MCP servers of an agent: their tools are listed and called by steps, in both libraries."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

import pytest
from agents import Agent as OpenAILoop
from agents.mcp import MCPServerStdio
from agents.testing import assistant_message, function_call
from mcp import Client
from mcp.types import TextContent
from pydantic_ai import Agent as PydanticLoop
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import ModelMessage, ModelResponse, RetryPromptPart, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from stepward import App, workflow
from stepward.errors import DeclarationError
from stepward.integrations.openai_agents import OpenAIAgent
from stepward.integrations.pydantic_ai import PydanticAgent
from stepward.workflow.event_loop.loop import WorkflowLoop
from tests.integrations.mcp_tools import server
from tests.integrations.test_openai_agents import Scripted, answered
from tests.integrations.test_pydantic_ai import results_of

ANY = SchemaValidator(core_schema.any_schema())
SERVER = Path(__file__).with_name("mcp_tools.py")
STEPS = ["clerk.list_tools/1", "clerk.model_request/1", "clerk.tool_call/1", "clerk.model_request/2"]


class StockToolset(AbstractToolset[None]):
    """The tools of the server, by the SDK's own client."""

    id = "stock"

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        self._client = await self._stack.enter_async_context(Client(server))
        return self

    async def __aexit__(self, *args: Any) -> None:
        await self._stack.aclose()

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        assert not isinstance(asyncio.get_running_loop(), WorkflowLoop)
        listed = (await self._client.list_tools()).tools
        definitions = [
            ToolDefinition(name=tool.name, parameters_json_schema=tool.input_schema, description=tool.description)
            for tool in listed
        ]
        return {
            each.name: ToolsetTool(toolset=self, tool_def=each, max_retries=1, args_validator=ANY)
            for each in definitions
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> Any:
        result = await self._client.call_tool(name, tool_args)
        text = "".join(each.text for each in result.content if isinstance(each, TextContent))
        if result.is_error:
            raise ModelRetry(text)
        return text


def pydantic_clerk(tool: str) -> PydanticAgent[None, str]:
    async def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        told = [*results_of(messages), *(part.content for part in parts if isinstance(part, RetryPromptPart))]
        if told:
            return ModelResponse(parts=[TextPart(str(told[0]))])
        assert [offered.name for offered in info.function_tools] == ["left", "reserve"]
        return ModelResponse(parts=[ToolCallPart(tool, {"article": "teapots"})])

    return PydanticAgent(PydanticLoop(FunctionModel(model), name="clerk", toolsets=[StockToolset()]))


def openai_clerk(tool: str) -> OpenAIAgent:
    def turn(results: list[Any]) -> Any:
        if results:
            return answered(assistant_message(str(results[0])))
        return answered(function_call(tool, {"article": "teapots"}, call_id="call-1"))

    server = MCPServerStdio({"command": sys.executable, "args": [str(SERVER)]}, name="stock")
    return OpenAIAgent(OpenAILoop("clerk", mcp_servers=[server]), provider=Scripted(turn))


@pytest.mark.parametrize(("tool", "told"), [("left", "3 of teapots"), ("reserve", "no teapots is left")])
@pytest.mark.parametrize("clerk", [pydantic_clerk, pytest.param(openai_clerk, marks=pytest.mark.servers)])
async def test_tools_of_a_server_are_listed_and_called_by_steps(
    clerk: Callable[[str], PydanticAgent[None, str] | OpenAIAgent], tool: str, told: str, tmp_path: Path
) -> None:
    agent = clerk(tool)

    @workflow
    async def ask(question: str) -> str:
        if isinstance(agent, PydanticAgent):
            return (await agent.run(question)).output
        return str((await agent.run(question)).final_output)

    app = App("shop", workflows=[ask], agents=[agent], store=f"sqlite:///{tmp_path}/shop.db")
    async with app.running(), app.client() as client:
        task = await client.submit("ask", "Are there teapots?")
        assert told in await task.result(timeout="1m")
        assert [step.key for step in await task.steps() if step.kind == "operation"] == STEPS


def test_toolsets_of_one_id_are_refused() -> None:
    with pytest.raises(DeclarationError, match="expected toolsets with ids of their own"):
        PydanticAgent(PydanticLoop("test", name="clerk", toolsets=[StockToolset(), StockToolset()]))
