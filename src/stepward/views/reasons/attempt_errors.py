"""The errors of failed attempts in words; the application's message comes first."""

from __future__ import annotations

from typing import Any

from stepward.model.failures import titled


def one_line(error: dict[str, Any]) -> str:
    """An error as ``Type: message (place)``."""
    place = error.get("at")
    return f"{titled(error)} ({place})" if place else titled(error)


def has_message(error: object) -> bool:
    """Whether a recorded error has a message."""
    return isinstance(error, dict) and bool(error.get("message"))


def attempts_of(error: dict[str, Any]) -> list[dict[str, Any]]:
    """The failed attempts that an error lists, oldest first."""
    earlier = error.get("earlier")
    return [*(entry for entry in earlier if isinstance(entry, dict)), error] if isinstance(earlier, list) else [error]
