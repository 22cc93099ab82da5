"""One request to a model as JSON: settings, tools, handoffs and output, as far as a model needs them.

Schemas are texts within it: a payload would not keep the order of their properties, in which models fill them in.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, TypedDict

from agents import (
    AgentOutputSchemaBase,
    CodeInterpreterTool,
    FileSearchTool,
    FunctionTool,
    Handoff,
    ImageGenerationTool,
    Model,
    ModelResponse,
    ModelSettings,
    ModelTracing,
    Tool,
    TResponseInputItem,
    WebSearchTool,
)
from pydantic import TypeAdapter

from stepward.errors import Refused

KEY_HEADER = "Idempotency-Key"
_JSON = TypeAdapter(Any)
_SETTINGS = TypeAdapter(ModelSettings)
_RESPONSE = TypeAdapter(ModelResponse)
Hosted = WebSearchTool | FileSearchTool | CodeInterpreterTool | ImageGenerationTool
"""Tools that the provider runs itself, and that are data alone."""
_HOSTED: dict[str, TypeAdapter[Hosted]] = {
    kind.__name__: TypeAdapter(kind)
    for kind in (WebSearchTool, FileSearchTool, CodeInterpreterTool, ImageGenerationTool)
}


class TurnRequest(TypedDict):
    """The arguments of ``Model.get_response``, as JSON."""

    system_instructions: str | None
    input: Any
    settings: dict[str, Any]
    tools: list[dict[str, Any]]
    output: dict[str, Any] | None
    handoffs: list[dict[str, Any]]
    previous_response_id: str | None
    conversation_id: str | None
    prompt: Any


async def asked(model: Model, request: TurnRequest, key: str) -> ModelResponse:
    """The model's answer to ``request``, with the idempotency key among the headers."""
    return await model.get_response(
        request["system_instructions"],
        request["input"],
        _keyed(request["settings"], key),
        [_load_tool(tool) for tool in request["tools"]],
        None if request["output"] is None else OutputSchema(request["output"]),
        [_load_handoff(handoff) for handoff in request["handoffs"]],
        ModelTracing.DISABLED,
        previous_response_id=request["previous_response_id"],
        conversation_id=request["conversation_id"],
        prompt=request["prompt"],
    )


def dump_input(given: str | list[TResponseInputItem]) -> Any:
    """The conversation so far as JSON."""
    return _JSON.dump_python(given, mode="json")


def dump_settings(settings: ModelSettings) -> dict[str, Any]:
    """The settings as JSON, without the runner's own retries: those are the Agent's."""
    dumped: dict[str, Any] = _SETTINGS.dump_python(replace(settings, retry=None), mode="json")
    return {name: value for name, value in dumped.items() if value is not None}


def dump_tool(tool: Tool) -> dict[str, Any]:
    """A tool as the model sees it. Raises Refused for one that cannot leave the workflow."""
    if isinstance(tool, FunctionTool):
        return {
            "kind": "function",
            "name": tool.name,
            "description": tool.description,
            "schema": json.dumps(tool.params_json_schema),
            "strict": tool.strict_json_schema,
        }
    kind = type(tool).__name__
    if kind not in _HOSTED:
        raise Refused(
            f"OpenAIAgent: expected tools that are functions or hosted by the provider ({', '.join(_HOSTED)}), "
            f"found {kind}; make it an operation, and pass operation_tool(operation)"
        )
    return {"kind": kind, "tool": _HOSTED[kind].dump_python(tool, mode="json")}  # type: ignore[arg-type]


def dump_output(schema: AgentOutputSchemaBase | None) -> dict[str, Any] | None:
    """The schema of the output; None for plain text."""
    if schema is None or schema.is_plain_text():
        return None
    return {"name": schema.name(), "schema": json.dumps(schema.json_schema()), "strict": schema.is_strict_json_schema()}


def dump_handoff(handoff: Handoff[Any, Any]) -> dict[str, Any]:
    """A handoff as the model sees it."""
    return {
        "tool_name": handoff.tool_name,
        "tool_description": handoff.tool_description,
        "input_json_schema": json.dumps(handoff.input_json_schema),
        "agent_name": handoff.agent_name,
        "strict_json_schema": handoff.strict_json_schema,
    }


def dump_response(response: ModelResponse) -> dict[str, Any]:
    """One answer of a model as JSON, whole."""
    dumped: dict[str, Any] = _RESPONSE.dump_python(response, mode="json")
    return dumped


def load_response(dumped: dict[str, Any]) -> ModelResponse:
    """The answer that ``dump_response`` wrote."""
    return _RESPONSE.validate_python(dumped)


class OutputSchema(AgentOutputSchemaBase):
    """The schema of an output, for the model; the workflow validates the answer."""

    def __init__(self, dumped: dict[str, Any]) -> None:
        self._dumped = dumped

    def is_plain_text(self) -> bool:
        """False: a plain text has no schema."""
        return False

    def name(self) -> str:
        """The name of the output's type."""
        return str(self._dumped["name"])

    def json_schema(self) -> dict[str, Any]:
        """The schema."""
        schema: dict[str, Any] = json.loads(self._dumped["schema"])
        return schema

    def is_strict_json_schema(self) -> bool:
        """Whether the provider shall hold the model to it."""
        return bool(self._dumped["strict"])

    def validate_json(self, json_str: str) -> Any:
        """Raise NotImplementedError: the workflow validates outputs."""
        raise NotImplementedError("OutputSchema: the workflow validates outputs, and models do not")


def _keyed(dumped: dict[str, Any], key: str) -> ModelSettings:
    settings = _SETTINGS.validate_python(dumped)
    return replace(settings, extra_headers={KEY_HEADER: key} | dict(settings.extra_headers or {}))


def _load_tool(dumped: dict[str, Any]) -> Tool:
    if dumped["kind"] != "function":
        return _HOSTED[dumped["kind"]].validate_python(dumped["tool"])
    return FunctionTool(
        name=dumped["name"],
        description=dumped["description"],
        params_json_schema=json.loads(dumped["schema"]),
        on_invoke_tool=_not_here,
        strict_json_schema=dumped["strict"],
    )


def _load_handoff(dumped: dict[str, Any]) -> Handoff[Any, Any]:
    schema = json.loads(dumped["input_json_schema"])
    return Handoff(on_invoke_handoff=_not_here, **dumped | {"input_json_schema": schema})


async def _not_here(*_: object) -> Any:
    raise NotImplementedError("turn_request: the workflow calls tools and hands off, and models do not")
