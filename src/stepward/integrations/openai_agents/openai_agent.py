"""An Agent of Stepward around an agent of the OpenAI Agents SDK: the runner is workflow code, what it asks outside are
steps."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import agents
import openai
from agents import (
    FunctionTool,
    ItemHelpers,
    Model,
    ModelProvider,
    ModelResponse,
    MultiProvider,
    RunConfig,
    Runner,
    RunResult,
    TResponseInputItem,
)
from agents.exceptions import AgentsException
from agents.mcp import MCPServer
from openai.types.responses import ResponseFunctionToolCall

from stepward.agent.declaration import Agent
from stepward.agent.http.answers import retry_after
from stepward.durations import Duration
from stepward.error_messages import message_of
from stepward.errors import DeclarationError, StepFailed, Unrecoverable
from stepward.integrations.language_models.operation_tools import Approval, short_name, tool_function
from stepward.integrations.language_models.outcomes import outcome_of
from stepward.integrations.language_models.turns import write_turn
from stepward.integrations.openai_agents.step_mcp_server import StepMCPServer
from stepward.integrations.openai_agents.step_model import StepModels
from stepward.integrations.openai_agents.turn_request import TurnRequest, asked, dump_response
from stepward.model.action import Action
from stepward.model.current_step import current_step
from stepward.policies import CircuitBreaker, Retry

NO_CREDIT = "insufficient_quota"
"""The code of a 429 that no waiting ends."""


def operation_tool(operation: Action[..., Any], *, approval: Approval | None = None) -> FunctionTool:
    """An operation, step or workflow as a tool: a call of the model is a step, with key, complete-by and undo.

    ``approval`` is an operation ``(tool, arguments) -> bool`` that is called first, and usually finished from outside
    by its completion token, within its complete-by. Unless it returns True, the model gets the refusal in
    place of a result.
    """
    return agents.function_tool(
        tool_function(operation, approval), name_override=short_name(operation), failure_error_function=None
    )


class OpenAIAgent(Agent):
    """An Agent whose ``run`` is ``Runner.run`` of an ``agents.Agent``, to be called in workflow code.

    Its operations are ``model_request``, and ``list_tools`` and ``tool_call`` for MCP servers; ``complete_by`` bounds
    each attempt of one. Models are given by name, and ``provider`` finds them. Functions among the agent's tools are
    workflow code: what reaches outside is made by ``operation_tool``. MCP servers of agents that are handed off to are
    not made steps.
    """

    def __init__(
        self,
        agent: agents.Agent[Any],
        *,
        provider: ModelProvider | None = None,
        complete_by: Duration = "2m",
        retry: Retry = Retry(),
        breaker: CircuitBreaker = CircuitBreaker(),
        concurrency: int = 64,
        rate: tuple[int, Duration] | str | None = None,
        max_in_flight: int | None = None,
    ) -> None:
        super().__init__(
            agent.name, retry=retry, breaker=breaker, concurrency=concurrency, rate=rate, max_in_flight=max_in_flight
        )
        for one in (agent, *(to for to in agent.handoffs if isinstance(to, agents.Agent))):
            if isinstance(one.model, Model):
                raise DeclarationError(
                    f"OpenAIAgent: expected agent {one.name!r} to name its model, found {one.model!r:.60}; "
                    "pass the name, and a provider= that finds the model"
                )
        self._agent = agent
        self._provider = provider
        self._servers = {server.name: server for server in agent.mcp_servers}
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, defaultdict[str, asyncio.Lock]] = WeakKeyDictionary()
        self.model_request = self.operation(complete_by=complete_by, name="model_request")(self._model_request)
        self.list_tools = self.operation(complete_by=complete_by, name="list_tools")(self._list_tools)
        self.tool_call = self.operation(complete_by=complete_by, name="tool_call")(self._tool_call)

    async def run(
        self, input: str | list[TResponseInputItem], *, context: Any = None, max_turns: int = 10
    ) -> RunResult:
        """Run the agent to its output; each turn of the model is a step, never repeated once it has an outcome.

        The sum of tokens is the task's value ``usage``, each finished turn an entry of its stream ``turns``.
        Raises StepFailed for a step that failed for good, which is best left to leave the workflow.
        """
        servers: list[MCPServer] = [
            StepMCPServer(server, self.list_tools, self.tool_call) for server in self._servers.values()
        ]
        config = RunConfig(model_provider=StepModels(self.model_request), tracing_disabled=True)
        try:
            return await Runner.run(
                self._agent.clone(mcp_servers=servers), input, context=context, max_turns=max_turns, run_config=config
            )
        except AgentsException as error:
            raise _failure_within(error) from error

    async def _model_request(self, model: str | None, request: TurnRequest) -> dict[str, Any]:
        """Ask a model for one turn."""
        if self._provider is None:
            self._provider = MultiProvider()
        with _outcomes():
            response = await asked(self._provider.get_model(model), request, current_step().idempotency_key)
        write_turn(self.name, _text(response), _calls(response))
        return dump_response(response)

    async def _list_tools(self, server: str) -> list[str]:
        """List the tools of an MCP server, each as text: a payload would not keep the order of the parameters."""
        async with self._connected(server) as connected:
            tools = await connected.list_tools()
        return [tool.model_dump_json(by_alias=True, exclude_none=True) for tool in tools]

    async def _tool_call(self, server: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool of an MCP server."""
        async with self._connected(server) as connected:
            result = await connected.call_tool(name, arguments)
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    @asynccontextmanager
    async def _connected(self, name: str) -> AsyncIterator[MCPServer]:
        """The server, connected for one step; a server has one connection at a time."""
        server = self._servers[name]
        locks = self._locks.setdefault(asyncio.get_running_loop(), defaultdict(asyncio.Lock))
        async with locks[name]:
            await server.connect()  # type: ignore[no-untyped-call]
            try:
                yield server
            finally:
                await server.cleanup()  # type: ignore[no-untyped-call]


@contextmanager
def _outcomes() -> Iterator[None]:
    """Raise errors of the provider as outcomes of the operation."""
    try:
        yield
    except openai.APIStatusError as error:
        raise outcome_of(
            message_of(error),
            status=error.status_code,
            retry_after=retry_after(error.response.headers, None),
            is_final=error.code == NO_CREDIT,
        ) from error
    except openai.APIError as error:
        raise outcome_of(message_of(error), status=None, retry_after=None) from error
    except AgentsException as error:
        raise Unrecoverable(message_of(error)) from error


def _failure_within(error: BaseException) -> BaseException:
    """The failed step that the SDK wrapped in an error of its own; the error itself where there is none."""
    within: BaseException | None = error
    while within is not None and not isinstance(within, StepFailed):
        within = within.__cause__
    return error if within is None else within


def _text(response: ModelResponse) -> str:
    return "".join(ItemHelpers.extract_text(item) or "" for item in response.output)


def _calls(response: ModelResponse) -> list[dict[str, Any]]:
    calls = [item for item in response.output if isinstance(item, ResponseFunctionToolCall)]
    return [{"tool": call.name, "arguments": call.arguments} for call in calls]
