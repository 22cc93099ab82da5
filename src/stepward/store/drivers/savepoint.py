"""A part of a caller's transaction that is rolled back by itself, so that what fails in it breaks nothing else."""

from __future__ import annotations

import contextlib
from typing import TypeVar

from stepward.store.drivers.dialogue import Ask, Dialogue

T = TypeVar("T")

NAME = "stepward_part"


def within_savepoint(work: Dialogue[T]) -> Dialogue[T]:
    """The same dialogue in a savepoint of its own; PostgreSQL refuses one outside of a transaction."""
    yield Ask(f"savepoint {NAME}")
    try:
        result = yield from work
    except GeneratorExit:
        raise
    except BaseException:
        # The first error is raised; a lost connection has nothing to roll back.
        with contextlib.suppress(Exception):
            yield Ask(f"rollback to savepoint {NAME}")
            yield Ask(f"release savepoint {NAME}")
        raise
    yield Ask(f"release savepoint {NAME}")
    return result
