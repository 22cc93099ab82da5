"""The model that an agent sees in workflow code: each request is a step."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from types import TracebackType
from typing import Any, Self

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import CompletedStreamedResponse, Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext

from stepward.integrations.language_models.token_usage import count_turn
from stepward.integrations.pydantic_ai.messages import dump_messages, dump_parameters, dump_settings, load_response

AskModel = Callable[[list[dict[str, Any]], dict[str, Any] | None, str], Awaitable[dict[str, Any]]]
"""The operation: messages, settings and the text of the parameters to the response, all of them JSON."""


class StepModel(WrapperModel):
    """A model of the same name and profile as ``wrapped``, which is asked by the operation ``ask``.

    The wrapped model is never entered here: its connections are the operation's.
    """

    def __init__(self, wrapped: Model, ask: AskModel) -> None:
        super().__init__(wrapped)
        self._ask = ask

    def _run_scope(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        return None

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """One turn, as a step. Raises StepFailed."""
        answer = await self._ask(
            dump_messages(messages), dump_settings(model_settings), dump_parameters(model_request_parameters)
        )
        response = load_response(answer)
        count_turn(response.usage.input_tokens, response.usage.output_tokens)
        return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """The turn once it is finished, as the events of a stream."""
        response = await self.request(messages, model_settings, model_request_parameters)
        yield CompletedStreamedResponse(response, model_request_parameters=model_request_parameters, replay_events=True)
