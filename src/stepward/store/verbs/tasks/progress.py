"""Progress of running attempts, as their Agents report it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepward.model.messages.requests import Progress


def progress_rows(updates: Sequence[Progress], now: float) -> list[tuple[Any, ...]]:
    """The values of ``progress.note`` for each update; an instant in the future becomes ``now``."""
    return [
        (update.task, update.run, update.key, update.attempt, update.progress, min(update.at, now))
        for update in updates
    ]
