"""Stages of a pipeline, and the sources of their arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar, cast, overload

from stepward.model.action import Action

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Given:
    """The pipeline's own argument of that name."""

    name: str


@dataclass(frozen=True, slots=True)
class From:
    """The result of another stage, which is waited for."""

    stage: str


Passed = Given | From
"""An argument whose type is checked when the pipeline is declared."""
Done = Coroutine[object, object, object]


class Stage:
    """One operation, local step or workflow of a pipeline; it starts when all that it waits for is done.

    Each argument is ``Given(name)``, ``From(stage)`` or a plain JSON value. ``after`` names stages to wait for whose
    results are not needed.
    """

    __slots__ = ("action", "after", "arguments")

    @overload
    def __init__(self, action: Callable[[], Done], /, *, after: Collection[str] = ()) -> None: ...
    @overload
    def __init__(self, action: Callable[[A], Done], a: A | Passed, /, *, after: Collection[str] = ()) -> None: ...
    @overload
    def __init__(
        self, action: Callable[[A, B], Done], a: A | Passed, b: B | Passed, /, *, after: Collection[str] = ()
    ) -> None: ...
    @overload
    def __init__(
        self,
        action: Callable[[A, B, C], Done],
        a: A | Passed,
        b: B | Passed,
        c: C | Passed,
        /,
        *,
        after: Collection[str] = (),
    ) -> None: ...
    @overload
    def __init__(
        self,
        action: Callable[[A, B, C, D], Done],
        a: A | Passed,
        b: B | Passed,
        c: C | Passed,
        d: D | Passed,
        /,
        *,
        after: Collection[str] = (),
    ) -> None: ...
    @overload
    def __init__(
        self,
        action: Callable[[A, B, C, D, E], Done],
        a: A | Passed,
        b: B | Passed,
        c: C | Passed,
        d: D | Passed,
        e: E | Passed,
        /,
        *,
        after: Collection[str] = (),
    ) -> None: ...
    @overload
    def __init__(
        self,
        action: Callable[..., Done],
        a: object,
        b: object,
        c: object,
        d: object,
        e: object,
        f: object,
        /,
        *arguments: object,
        after: Collection[str] = (),
    ) -> None: ...
    def __init__(self, action: Callable[..., Done], *arguments: Any, after: Collection[str] = ()) -> None:
        self.action = cast("Action[Any, Any]", action)  # checked when the pipeline is declared
        self.arguments = arguments
        self.after = after

    def __repr__(self) -> str:
        return f"<stage {self.action!r}>"
