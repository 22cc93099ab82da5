"""Rows as PostgreSQL is sent them: one array for each column, unnested there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def columns_of(rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    """The columns of rows, of which there is at least one."""
    return list(zip(*rows, strict=True))


def without_nul(text: str) -> str:
    """A text as PostgreSQL takes it: it refuses the character NUL, which a message may quote."""
    return text.replace("\0", "�")
