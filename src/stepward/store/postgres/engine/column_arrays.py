"""Rows as PostgreSQL is sent them: one array for each column, unnested there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepward.model.messages.status_events import KEPT_SECONDS


def columns_of(rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    """The columns of rows, of which there is at least one."""
    return list(zip(*rows, strict=True))


def event_columns(events: Sequence[tuple[str, bytes]], now: float) -> list[Any]:
    """The parameters that append status events to their queues; there is at least one."""
    return [*columns_of(events), now + KEPT_SECONDS]
