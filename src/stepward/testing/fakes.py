"""The Agents of an environment: those of the application, with fakes for some functions and a record of every call."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from stepward.agent.declaration import Agent, Operation, Undo
from stepward.errors import DeclarationError
from stepward.model.current import CURRENT
from stepward.testing.planned_faults import PlannedFaults

Faked = Operation[Any, Any] | Undo[Any, Any, Any]
"""The function that a test names: an operation, or the object that is declared as its undo."""


class OperationCall(Struct, frozen=True, kw_only=True):
    """One call of an operation or of an undo."""

    task_id: str
    args: tuple[Any, ...]
    """The arguments in order; those of an undo begin with the result, or None where it is unknown."""
    attempt: int
    idempotency_key: str
    at: float
    """Seconds since 1970 by the virtual clock."""


class FakedAgents:
    """Copies of an application's Agents, with fakes for some functions."""

    def __init__(
        self,
        agents: Sequence[Agent],
        fakes: Mapping[Any, Any],
        faults: PlannedFaults,
        now: Callable[[], float],
    ) -> None:
        self._faults = faults
        self._now = now
        self._calls: dict[tuple[str, bool], list[OperationCall]] = {}
        self._known = {(name, undo) for agent in agents for name in agent.operations for undo in (False, True)}
        named = {self.named(key, "fakes"): _callable(key, fake) for key, fake in fakes.items()}
        self.agents = [self._copied(agent, named) for agent in agents]

    def named(self, found: object, what: str) -> tuple[str, bool]:
        """The name of an operation of the application, and whether it is its undo. Raises DeclarationError."""
        name = (
            (found.name, False)
            if isinstance(found, Operation)
            else (found.operation, True)
            if isinstance(found, Undo)
            else None
        )
        if name is None or name not in self._known:
            known = ", ".join(sorted({each for each, _ in self._known})) or "none"
            raise DeclarationError(
                f"{what}: expected an operation of the application's Agents ({known}) or its undo, found {found!r}; "
                "give the object that the decorator made"
            )
        return name

    def calls(self, found: object) -> list[OperationCall]:
        """Every call of an operation or an undo so far, oldest first. Raises DeclarationError."""
        return list(self._calls.get(self.named(found, "calls()"), ()))

    def _copied(self, agent: Agent, fakes: Mapping[tuple[str, bool], Callable[..., Any]]) -> Agent:
        copied = copy.copy(agent)
        copied._operations = {name: self._faked(op, fakes) for name, op in agent.operations.items()}
        return copied

    def _faked(
        self, operation: Operation[Any, Any], fakes: Mapping[tuple[str, bool], Callable[..., Any]]
    ) -> Operation[Any, Any]:
        copied = copy.copy(operation)
        copied.fn = self._recorded((operation.name, False), fakes.get((operation.name, False), operation.fn))
        if operation.undo_fn is not None:
            name = (operation.name, True)
            copied.undo_fn = self._recorded(name, fakes.get(name, operation.undo_fn))
        return copied

    def _recorded(self, name: tuple[str, bool], fn: Callable[..., Any]) -> Callable[..., Any]:
        fn = fn.fn if isinstance(fn, Operation | Undo) else fn

        async def call(*args: Any, **kwargs: Any) -> Any:
            step = CURRENT.get()
            if step is not None:
                made = OperationCall(
                    task_id=step.task_id,
                    args=(*args, *kwargs.values()),
                    attempt=step.attempt,
                    idempotency_key=step.idempotency_key,
                    at=self._now(),
                )
                self._calls.setdefault(name, []).append(made)
            self._faults.before_call(name)
            result = fn(*args, **kwargs)
            result = await result if inspect.isawaitable(result) else result
            if step is not None:
                self._faults.after_call(name, step.idempotency_key)
            return result

        return call


def _callable(key: object, fake: object) -> Callable[..., Any]:
    if not callable(fake):
        raise DeclarationError(f"fakes: expected a function for {key!r}, found {fake!r}; give a def or an async def")
    return fake
