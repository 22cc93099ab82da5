"""The models that a run sees in workflow code: each request is a step."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from agents import (
    AgentOutputSchemaBase,
    Handoff,
    Model,
    ModelProvider,
    ModelResponse,
    ModelSettings,
    ModelTracing,
    Tool,
    TResponseInputItem,
)
from agents.items import TResponseStreamEvent
from openai.types.responses.response_prompt_param import ResponsePromptParam

from stepward.errors import Refused
from stepward.integrations.language_models.token_usage import count_turn
from stepward.integrations.openai_agents.turn_request import (
    TurnRequest,
    dump_handoff,
    dump_input,
    dump_output,
    dump_settings,
    dump_tool,
    load_response,
)

AskNamedModel = Callable[[str | None, TurnRequest], Awaitable[dict[str, Any]]]
"""The operation: the model's name, None for the provider's default, and the request, to the response as JSON."""


class StepModels(ModelProvider):
    """Every name is a model that is asked by the operation ``ask``."""

    def __init__(self, ask: AskNamedModel) -> None:
        self._ask = ask

    def get_model(self, model_name: str | None) -> Model:
        """The model of that name, which the operation's process looks up."""
        return StepTurns(model_name, self._ask)


class StepTurns(Model):
    """A model whose turns are steps."""

    def __init__(self, name: str | None, ask: AskNamedModel) -> None:
        self._name = name
        self._ask = ask

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff[Any, Any]],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: ResponsePromptParam | None,
    ) -> ModelResponse:
        """One turn, as a step. Raises StepFailed."""
        request = TurnRequest(
            system_instructions=system_instructions,
            input=dump_input(input),
            settings=dump_settings(model_settings),
            tools=[dump_tool(tool) for tool in tools],
            output=dump_output(output_schema),
            handoffs=[dump_handoff(handoff) for handoff in handoffs],
            previous_response_id=previous_response_id,
            conversation_id=conversation_id,
            prompt=prompt,
        )
        response = load_response(await self._ask(self._name, request))
        count_turn(response.usage.input_tokens, response.usage.output_tokens)
        return response

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[TResponseStreamEvent]:
        """Raises Refused: a turn is readable once it is finished."""
        raise Refused(
            "OpenAIAgent: expected run(), found run_streamed(); readers outside follow the task's stream 'turns'"
        )
