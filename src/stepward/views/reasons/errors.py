"""The errors of failed attempts in words, the author's first."""

from __future__ import annotations

from typing import Any

from stepward.model.failures import titled


def one_line(error: dict[str, Any]) -> str:
    """An error as ``Type: message (place)``."""
    place = error.get("at")
    return f"{titled(error)} ({place})" if place else titled(error)


def told(error: object) -> bool:
    """Whether a recorded error says anything."""
    return isinstance(error, dict) and bool(error.get("message"))


def attempts_of(error: dict[str, Any]) -> list[dict[str, Any]]:
    """The failed attempts of which the error tells, the last one last."""
    earlier = error.get("earlier")
    return [*(each for each in earlier if isinstance(each, dict)), error] if isinstance(earlier, list) else [error]
