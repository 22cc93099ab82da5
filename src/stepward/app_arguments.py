"""Checks of the arguments of ``App``."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from stepward.agent.declaration import Agent
from stepward.errors import DeclarationError
from stepward.model.action import Action
from stepward.model.failures import Redact

T = TypeVar("T")
NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


def checked_name(name: str) -> str:
    """``name``, if an application can be called so. Raises DeclarationError."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise DeclarationError(f"App: expected a name of 1 to 100 of A-Z a-z 0-9 _ -, found {name!r}")
    return name


def several(given: Iterable[T], what: str) -> Iterable[T]:
    """``given``, if it is iterable. Raises DeclarationError."""
    if not isinstance(given, Iterable):
        raise DeclarationError(f"{what}: expected a list, found {reprlib.repr(given)}; write [ ] around it")
    return given


def checked_redact(redact: Redact | None) -> Redact | None:
    """``redact``, if it can be called. Raises DeclarationError."""
    if redact is not None and not callable(redact):
        raise DeclarationError(
            f"App.redact: expected a function of a text that returns a text, found {reprlib.repr(redact)}"
        )
    return redact


def operations_of(agents: Sequence[Agent]) -> list[Action[Any, Any]]:
    """The operations of all Agents. Raises DeclarationError for what is no Agent, and for two of one name."""
    for agent in agents:
        if not isinstance(agent, Agent):
            raise DeclarationError(
                f"agents: expected Agents, found {reprlib.repr(agent)}; give the Agent that declares the operations"
            )
    names = [agent.name for agent in agents]
    for name in names:
        if names.count(name) > 1:
            raise DeclarationError(f"Agent {name!r}: expected one declaration, found {names.count(name)}")
    return [operation for agent in agents for operation in agent.operations.values()]
