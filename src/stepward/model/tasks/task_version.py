"""The version of a task: a digest that changes with what an operator decides by."""

from __future__ import annotations

from hashlib import sha256
from typing import Protocol

import msgspec

from stepward.model.states import TaskState

DIGITS = 32
"""Hexadecimal digits of a version."""


class VersionedTask(Protocol):
    """The fields of a task that its version covers; its owner and its complete-by are not among them."""

    @property
    def uid(self) -> str:
        """Its uid."""
        ...

    @property
    def state(self) -> TaskState:
        """Its state."""
        ...

    @property
    def run(self) -> int:
        """Its run."""
        ...

    @property
    def failure_count(self) -> int:
        """Expiries of its steps plus takeovers."""
        ...

    @property
    def waits_for(self) -> str | None:
        """What it waits for."""
        ...

    @property
    def finished_at(self) -> float | None:
        """When it ended."""
        ...

    @property
    def deadline(self) -> float | None:
        """Its own deadline."""
        ...


def task_version(task: VersionedTask, steps: int, done: int) -> str:
    """The version of a task with that many steps, and that many of them completed or undone."""
    known = (
        task.uid,
        task.state,
        task.run,
        task.failure_count,
        task.waits_for,
        steps,
        done,
        task.finished_at,
        task.deadline,
    )
    return sha256(msgspec.json.encode(known)).hexdigest()[:DIGITS]
