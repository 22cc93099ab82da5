"""The operations by which workflow code reaches a toolset outside the process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

ListTools = Callable[[str], Awaitable[list[Any]]]
"""Lists the tools of the toolset, or server, of an id."""
CallTool = Callable[[str, str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Calls a tool: the toolset's id, the tool's name, the arguments."""
