"""What a pipeline is declared with: stages, and where each of their arguments comes from."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from stepward.model.action import Action


@dataclass(frozen=True, slots=True)
class Given:
    """The pipeline's own argument of that name."""

    name: str


@dataclass(frozen=True, slots=True)
class From:
    """The result of another stage, which is waited for."""

    stage: str


class Stage:
    """One operation, local step or workflow of a pipeline; it starts when all that it waits for is done.

    Each argument is ``Given(name)``, ``From(stage)`` or a plain JSON value. ``after`` names stages to wait for whose
    results are not needed.
    """

    __slots__ = ("action", "after", "arguments")

    def __init__(self, action: Action[Any, Any], *arguments: Any, after: Collection[str] = ()) -> None:
        self.action = action
        self.arguments = arguments
        self.after = after

    def __repr__(self) -> str:
        return f"<stage {self.action!r}>"
