"""Agents of Pydantic AI as workflow code: each model request and each call of an MCP tool is a step."""

from stepward.integrations.pydantic_ai.messages import dump_messages, load_messages
from stepward.integrations.pydantic_ai.pydantic_agent import PydanticAgent, operation_tool

__all__ = ["PydanticAgent", "dump_messages", "load_messages", "operation_tool"]
