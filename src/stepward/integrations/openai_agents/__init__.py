"""Agents of the OpenAI Agents SDK as workflow code: each model request and each call of an MCP tool is a step."""

from stepward.integrations.openai_agents.openai_agent import OpenAIAgent, operation_tool

__all__ = ["OpenAIAgent", "operation_tool"]
