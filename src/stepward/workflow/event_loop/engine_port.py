"""The port of a workflow's event loop to its engine: steps, timers, and the end of the execution."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, Protocol

from stepward.model.action import Action
from stepward.workflow.event_loop.futures import Timer
from stepward.workflow.replay.code_places import CodePlace


class Engine(Protocol):
    """What the loop asks of the execution that it belongs to."""

    def call(
        self,
        action: Action[Any, Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        key: str | None = None,
        place: CodePlace | None = None,
    ) -> Coroutine[Any, Any, Any]:
        """Ask for a durable step; ``place`` is the line of code that does."""
        ...

    def set_timer(
        self, delay: float, callback: Callable[..., object], args: tuple[Any, ...], context: Context
    ) -> Timer:
        """Make a timer that fires when the engine says."""
        ...

    def leave(self, error: BaseException) -> None:
        """End the execution with an exception that left one of its callbacks."""
        ...

    def break_off(self, message: str) -> None:
        """End the execution as broken."""
        ...


class EndedEngine:
    """In place of the engine once the execution is over: code that still asks is ended."""

    def call(
        self,
        action: Action[Any, Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        key: str | None = None,
        place: CodePlace | None = None,
    ) -> Coroutine[Any, Any, Any]:
        raise GeneratorExit

    def set_timer(
        self, delay: float, callback: Callable[..., object], args: tuple[Any, ...], context: Context
    ) -> Timer:
        raise GeneratorExit

    def leave(self, error: BaseException) -> None:
        raise GeneratorExit

    def break_off(self, message: str) -> None:
        raise GeneratorExit


ENDED_ENGINE = EndedEngine()
