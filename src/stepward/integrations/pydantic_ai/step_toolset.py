"""A toolset outside the process, such as an MCP server, as workflow code sees it: listed and called by steps."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.messages import ToolReturnContent
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from stepward.integrations.language_models.mcp_operations import CallTool, ListTools

_DEFINITION = TypeAdapter(ToolDefinition)
_ARGUMENTS = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))
"""Any object: the toolset outside checks it."""
_RESULT: TypeAdapter[Any] = TypeAdapter(ToolReturnContent)


class StepToolset(AbstractToolset[Any]):
    """The tools of one outside toolset, listed once in each run of the agent."""

    def __init__(self, id: str, list_tools: ListTools, call: CallTool) -> None:
        self._id = id
        self._list_tools = list_tools
        self._call = call
        self._tools: dict[str, ToolsetTool[Any]] | None = None

    @property
    def id(self) -> str:
        """The outside toolset's."""
        return self._id

    async def for_run(self, ctx: RunContext[Any]) -> StepToolset:
        """One whose tools are yet to be listed."""
        return StepToolset(self._id, self._list_tools, self._call)

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools by name; the first call is a step."""
        if self._tools is None:
            self._tools = {tool.tool_def.name: tool for tool in map(self._tool, await self._list_tools(self._id))}
        return self._tools

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """The result of a call, as a step. Raises ModelRetry and ToolFailed, as the toolset did; StepFailed."""
        return load_result(await self._call(self._id, name, tool_args))

    def _tool(self, dumped: dict[str, Any]) -> ToolsetTool[Any]:
        return ToolsetTool(
            toolset=self,
            tool_def=_DEFINITION.validate_json(dumped["definition"]),
            max_retries=dumped["max_retries"],
            args_validator=_ARGUMENTS,
        )


def dump_tool(tool: ToolsetTool[Any]) -> dict[str, Any]:
    """A tool as JSON, its definition as text: a payload would not keep the order of the parameters."""
    return {"definition": _DEFINITION.dump_json(tool.tool_def).decode(), "max_retries": tool.max_retries}


async def dumped_result(call: Awaitable[Any]) -> dict[str, Any]:
    """The result of a call of a tool, or the text that the model gets in its place, as JSON."""
    try:
        return {"result": _RESULT.dump_python(await call, mode="json")}
    except ModelRetry as error:
        return {"retry": error.message}
    except ToolFailed as error:
        return {"failed": error.message}


def load_result(dumped: dict[str, Any]) -> Any:
    """The result that ``dumped_result`` wrote. Raises ModelRetry and ToolFailed."""
    if "retry" in dumped:
        raise ModelRetry(dumped["retry"])
    if "failed" in dumped:
        raise ToolFailed(dumped["failed"])
    return _RESULT.validate_python(dumped["result"])
