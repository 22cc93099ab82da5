"""An MCP server as workflow code sees it: its tools are listed and called by steps."""

from __future__ import annotations

from typing import Any

from agents import AgentBase, RunContextWrapper
from agents.mcp import MCPServer
from mcp.types import CallToolResult, GetPromptResult, ListPromptsResult
from mcp.types import Tool as MCPTool

from stepward.errors import Refused
from stepward.integrations.language_models.mcp_operations import CallTool, ListTools


class StepMCPServer(MCPServer):
    """The tools of one server, listed once in each run of the agent."""

    def __init__(self, server: MCPServer, list_tools: ListTools, call: CallTool) -> None:
        super().__init__(use_structured_content=server.use_structured_content)
        self._name = server.name
        self._list_tools = list_tools
        self._call = call
        self._tools: list[MCPTool] | None = None

    @property
    def name(self) -> str:
        """The server's."""
        return self._name

    async def connect(self) -> None:
        """Do nothing: each step connects."""

    async def cleanup(self) -> None:
        """Do nothing: each step disconnects."""

    async def list_tools(
        self, run_context: RunContextWrapper[Any] | None = None, agent: AgentBase[Any] | None = None
    ) -> list[MCPTool]:
        """The tools; the first call is a step."""
        if self._tools is None:
            self._tools = [MCPTool.model_validate_json(tool) for tool in await self._list_tools(self._name)]
        return self._tools

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> CallToolResult:
        """The result of a call, as a step. Raises StepFailed."""
        return CallToolResult.model_validate(await self._call(self._name, tool_name, arguments or {}))

    async def list_prompts(self) -> ListPromptsResult:
        """Raises Refused."""
        raise Refused(f"MCP server {self._name}: expected calls of tools, found one of prompts; make it an operation")

    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None) -> GetPromptResult:
        """Raises Refused."""
        raise Refused(f"MCP server {self._name}: expected calls of tools, found one of prompts; make it an operation")
