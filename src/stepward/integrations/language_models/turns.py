"""A finished turn of a model as an entry of the task's stream ``turns``."""

from __future__ import annotations

from typing import Any

from stepward.workflow.live_values import stream

TURNS = "turns"
"""The name of the stream."""


def write_turn(agent: str, text: str, tool_calls: list[dict[str, Any]]) -> None:
    """Append a turn: the Agent's name, the model's text, and for each tool that it calls ``tool`` and ``arguments``.

    To be called in the operation, so that it is committed, and readable, with the turn's outcome.
    """
    stream(TURNS).write({"agent": agent, "text": text, "tool_calls": tool_calls})
