"""Messages, settings and parameters of a model request as JSON, which is the same in every replay."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings

KEY_HEADER = "Idempotency-Key"

_PARAMETERS = TypeAdapter(ModelRequestParameters)
_SETTINGS = TypeAdapter(dict[str, Any])
_DRAWN = ("timestamp", "run_id", "conversation_id")
"""Fields that the library fills from the clock and by chance, and that no model reads."""


def dump_messages(messages: Sequence[ModelMessage]) -> list[dict[str, Any]]:
    """A conversation as JSON: an argument for another task, or for the next run of this one.

    Times and the ids of runs are left out, because a replay would draw other ones.
    """
    dumped: list[dict[str, Any]] = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
    for message in dumped:
        for item in (message, *message["parts"]):
            for name in _DRAWN:
                item.pop(name, None)
            if item.get("part_kind") == "retry-prompt" and item.get("tool_name") is None:
                item.pop("tool_call_id", None)  # Drawn by chance where no tool was called.
    return dumped


def load_messages(dumped: list[dict[str, Any]]) -> list[ModelMessage]:
    """The conversation that ``dump_messages`` wrote, for ``message_history``."""
    return ModelMessagesTypeAdapter.validate_python(dumped)


def dump_response(response: ModelResponse) -> dict[str, Any]:
    """One answer of a model as JSON, whole."""
    dumped: list[dict[str, Any]] = ModelMessagesTypeAdapter.dump_python([response], mode="json")
    return dumped[0]


def load_response(dumped: dict[str, Any]) -> ModelResponse:
    """The answer that ``dump_response`` wrote."""
    return cast("ModelResponse", ModelMessagesTypeAdapter.validate_python([dumped])[0])


def dump_parameters(parameters: ModelRequestParameters) -> str:
    """The tools and the output that a request offers, as the text of JSON; sets in order.

    A payload would not keep the order of a schema's properties, in which models fill them in.
    """
    dumped: dict[str, Any] = _PARAMETERS.dump_python(parameters, mode="json")
    for name, value in dumped.items():
        if isinstance(getattr(parameters, name, None), set | frozenset):
            dumped[name] = sorted(value)
    return json.dumps(dumped)


def load_parameters(dumped: str) -> ModelRequestParameters:
    """The parameters that ``dump_parameters`` wrote."""
    return _PARAMETERS.validate_json(dumped)


def dump_settings(settings: ModelSettings | None) -> dict[str, Any] | None:
    """The settings of a request as JSON."""
    return None if settings is None else _SETTINGS.dump_python(cast("dict[str, Any]", settings), mode="json")


def keyed_settings(dumped: Mapping[str, Any] | None, key: str) -> ModelSettings:
    """The settings that ``dump_settings`` wrote, with the step's idempotency key among the request's headers."""
    settings = dict(dumped or {})
    settings["extra_headers"] = {KEY_HEADER: key} | dict(settings.get("extra_headers") or {})
    return cast("ModelSettings", settings)
