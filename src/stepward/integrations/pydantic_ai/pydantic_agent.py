"""An Agent of Stepward around an agent of Pydantic AI: its loop is workflow code, what it asks outside are steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

import pydantic_ai
from pydantic_ai._utils import disable_threads
from pydantic_ai.durable_exec import durable_unit_scope
from pydantic_ai.exceptions import ModelAPIError, ModelQuotaExceededError, ModelRequestRejectedError, UserError
from pydantic_ai.messages import ModelMessage, ModelResponse, UserContent
from pydantic_ai.models import Model, infer_model
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import RunContext, Tool
from pydantic_ai.toolsets import AbstractToolset, ExternalToolset, FunctionToolset
from pydantic_ai.usage import RunUsage, UsageLimits

from stepward.agent.declaration import Agent
from stepward.durations import Duration
from stepward.error_messages import message_of
from stepward.errors import DeclarationError, Unrecoverable
from stepward.integrations.language_models.operation_tools import Approval, short_name, tool_function
from stepward.integrations.language_models.outcomes import outcome_of
from stepward.integrations.language_models.turns import write_turn
from stepward.integrations.pydantic_ai.messages import (
    dump_response,
    keyed_settings,
    load_messages,
    load_parameters,
)
from stepward.integrations.pydantic_ai.step_model import StepModel
from stepward.integrations.pydantic_ai.step_toolset import StepToolset, dump_tool, dumped_result
from stepward.model.action import Action
from stepward.model.current_step import current_step
from stepward.policies import CircuitBreaker, Retry

DepsT = TypeVar("DepsT")
OutputT = TypeVar("OutputT")


def operation_tool(operation: Action[..., Any], *, approval: Approval | None = None) -> Tool[Any]:
    """An operation, step or workflow as a tool: a call of the model is a step, with key, complete-by and undo.

    ``approval`` is an operation ``(tool, arguments) -> bool`` that is called first, and usually finished from outside
    by its completion token, within its complete-by. Unless it returns True, the model gets the refusal in
    place of a result.
    """
    return Tool(tool_function(operation, approval), takes_ctx=False, name=short_name(operation))


class PydanticAgent(Agent, Generic[DepsT, OutputT]):
    """An Agent whose ``run`` is the loop of a ``pydantic_ai.Agent``, to be called in workflow code.

    Its operations are ``model_request``, and ``list_tools`` and ``tool_call`` for toolsets outside the process (MCP);
    ``complete_by`` bounds each attempt of one. Functions among the agent's tools are workflow code: what reaches
    outside is made by ``operation_tool``. The agent needs a ``name``, and each toolset an ``id``.
    """

    def __init__(
        self,
        agent: pydantic_ai.Agent[DepsT, OutputT],
        *,
        complete_by: Duration = "2m",
        retry: Retry = Retry(),
        breaker: CircuitBreaker = CircuitBreaker(),
        concurrency: int = 64,
        rate: tuple[int, Duration] | str | None = None,
        max_in_flight: int | None = None,
    ) -> None:
        if agent.name is None or agent.model is None:
            raise DeclarationError("PydanticAgent: expected an agent with a name and a model; pass name= and a model")
        super().__init__(
            agent.name, retry=retry, breaker=breaker, concurrency=concurrency, rate=rate, max_in_flight=max_in_flight
        )
        self._loop = agent
        self._outside: dict[str, AbstractToolset[Any]] = {}
        self.model_request = self.operation(complete_by=complete_by, name="model_request")(self._model_request)
        self.list_tools = self.operation(complete_by=complete_by, name="list_tools")(self._list_tools)
        self.tool_call = self.operation(complete_by=complete_by, name="tool_call")(self._tool_call)
        self._toolsets = [toolset.visit_and_replace(self._as_steps) for toolset in agent.toolsets]

    async def run(
        self,
        prompt: str | Sequence[UserContent] | None = None,
        *,
        deps: DepsT | None = None,
        message_history: Sequence[ModelMessage] | None = None,
        usage_limits: UsageLimits | None = None,
    ) -> AgentRunResult[OutputT]:
        """Run the agent to its output; each turn of the model is a step, never repeated once it has an outcome.

        The sum of tokens is the task's value ``usage``, each finished turn an entry of its stream ``turns``.
        Raises StepFailed for a step that failed for good, which is best left to leave the workflow.
        """
        model = StepModel(self._model, self.model_request)
        with disable_threads(), self._loop.override(model=model, toolsets=self._toolsets, tools=[]):
            return await self._loop.run(
                prompt, deps=cast("DepsT", deps), message_history=message_history, usage_limits=usage_limits
            )

    async def _model_request(
        self, messages: list[dict[str, Any]], settings: dict[str, Any] | None, parameters: str
    ) -> dict[str, Any]:
        """Ask the model for one turn."""
        keyed = keyed_settings(settings, current_step().idempotency_key)
        with durable_unit_scope(), _outcomes():
            response = await self._model.request(load_messages(messages), keyed, load_parameters(parameters))
        write_turn(self.name, response.text or "", _calls(response))
        return dump_response(response)

    async def _list_tools(self, toolset: str) -> list[dict[str, Any]]:
        """List the tools of an outside toolset."""
        async with self._outside[toolset] as entered:
            tools = await entered.get_tools(self._context())
        return [dump_tool(tool) for tool in tools.values()]

    async def _tool_call(self, toolset: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool of an outside toolset."""
        context = self._context()
        async with self._outside[toolset] as entered:
            tool = (await entered.get_tools(context)).get(name)
            if tool is None:
                raise Unrecoverable(f"toolset {toolset}: expected the tool {name!r}, found none; it is not offered now")
            return await dumped_result(entered.call_tool(name, arguments, context, tool))

    @cached_property
    def _model(self) -> Model:
        return infer_model(cast("Model | str", self._loop.model))

    def _context(self) -> RunContext[Any]:
        return RunContext(deps=None, model=self._model, usage=RunUsage(), max_retries=1)

    def _as_steps(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """The toolset itself if its tools are functions, else one that lists and calls them by steps."""
        if isinstance(toolset, FunctionToolset | ExternalToolset):
            return toolset
        if toolset.id is None or toolset.id in self._outside:
            raise DeclarationError(
                f"PydanticAgent {self.name!r}: expected toolsets with ids of their own, found {toolset.label} with "
                f"{toolset.id!r}; pass id="
            )
        self._outside[toolset.id] = toolset
        return StepToolset(toolset.id, self.list_tools, self.tool_call)


@contextmanager
def _outcomes() -> Iterator[None]:
    """Raise errors of the provider as outcomes of the operation."""
    try:
        yield
    except UserError as error:
        raise Unrecoverable(message_of(error)) from error
    except ModelAPIError as error:
        is_final = isinstance(error, ModelQuotaExceededError | ModelRequestRejectedError)
        raise outcome_of(
            message_of(error),
            status=getattr(error, "status_code", None),
            retry_after=error.retry_after,
            is_final=is_final,
        ) from error


def _calls(response: ModelResponse) -> list[dict[str, Any]]:
    return [{"tool": call.tool_name, "arguments": call.args_as_dict()} for call in response.tool_calls]
