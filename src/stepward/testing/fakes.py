"""Fakes: an environment calls them, or the real operations and local steps, and records every call."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from stepward.agent.declaration import Agent, Operation, Undo
from stepward.errors import DeclarationError
from stepward.model.action import Action
from stepward.model.current_step import CURRENT
from stepward.model.states import StepKind
from stepward.testing.planned_faults import PlannedFaults

LOCAL_KINDS = frozenset({StepKind.LOCAL, StepKind.TRANSACTION})


class OperationCall(Struct, frozen=True, kw_only=True):
    """One call of an operation, of an undo, or of a local step."""

    task_id: str
    args: tuple[Any, ...]
    """The arguments in order. Those of an undo begin with the result, or None where that is unknown; those of a
    transactional step do not include the connection."""
    attempt: int
    idempotency_key: str
    at: float
    """Seconds since 1970 by the virtual clock."""


class FakedAgents:
    """Copies of an application's Agents that call the fakes, and the local steps that are faked."""

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
        self._steps = {key: fake for key, fake in fakes.items() if is_local(key)}
        self._known |= {(step.name, False) for step in self._steps}
        named = {self.named(key, "fakes"): _callable(key, fake) for key, fake in fakes.items()}
        self.agents = [self._copied(agent, named) for agent in agents]

    @contextmanager
    def replacing_steps(self) -> Iterator[None]:
        """Call the fakes of local steps within the block; workflow code holds the steps themselves."""
        functions = {step: step.fn for step in self._steps}
        for step, fake in self._steps.items():
            step.fn = self._recorded((step.name, False), fake, skip=int(step.kind is StepKind.TRANSACTION))
        try:
            yield
        finally:
            for step, fn in functions.items():
                step.fn = fn

    def named(self, found: object, what: str) -> tuple[str, bool]:
        """The name of an operation or local step, and whether its undo is meant. Raises DeclarationError."""
        name = _name_of(found)
        if name not in self._known and is_local(found):
            raise DeclarationError(
                f"{what}: expected a local step that is among the fakes, found {found!r}; add it there, or itself as "
                "its own fake: fakes={step: step}"
            )
        if name is None or name not in self._known:
            known = ", ".join(sorted({name for name, _ in self._known})) or "none"
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

    def _recorded(self, name: tuple[str, bool], fn: Callable[..., Any], *, skip: int = 0) -> Callable[..., Any]:
        """``fn`` with its calls recorded, but for the first ``skip`` arguments, and with the planned faults."""
        fn = fake_of(fn)

        async def call(*args: Any, **kwargs: Any) -> Any:
            step = CURRENT.get()
            if step is not None:
                made = OperationCall(
                    task_id=step.task_id,
                    args=(*args[skip:], *kwargs.values()),
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


def fake_of(found: Any) -> Callable[..., Any]:
    """The function itself, where an operation, an undo or a step is given as a fake."""
    fn: Callable[..., Any] = found.fn if isinstance(found, Action | Undo) else found
    return fn


def _name_of(found: object) -> tuple[str, bool] | None:
    if isinstance(found, Undo):
        return found.operation, True
    if isinstance(found, Operation) or (isinstance(found, Action) and found.kind in LOCAL_KINDS):
        return found.name, False
    return None


def is_local(found: object) -> bool:
    """Whether it is a local step, transactional or not."""
    return isinstance(found, Action) and found.kind in LOCAL_KINDS


def _callable(key: object, fake: object) -> Callable[..., Any]:
    if not callable(fake):
        raise DeclarationError(f"fakes: expected a function for {key!r}, found {fake!r}; give a def or an async def")
    return fake
