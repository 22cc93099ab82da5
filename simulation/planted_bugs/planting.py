"""How a bug is planted: by name, for as long as a run takes, into code that stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

Plant = Callable[[ExitStack], None]
BUGS: dict[str, Plant] = {}


@contextmanager
def planted(name: str | None) -> Iterator[None]:
    """Run with that bug; None plants none."""
    with ExitStack() as stack:
        if name is not None:
            BUGS[name](stack)
        yield


def bug(plant: Plant) -> Plant:
    """Register a bug under its name."""
    BUGS[plant.__name__] = plant
    return plant


def put(stack: ExitStack, target: Any, name: str, value: Any) -> None:
    """Put a value in the place of what is there."""
    stack.enter_context(patch.object(target, name, value))


def reword(stack: ExitStack, queries: dict[str, str], name: str, old: str, new: str) -> None:
    """Change the words of a query; one that no longer has them makes the bug a lie."""
    if old not in queries[name]:
        raise LookupError(f"bug: expected the query {name} to say {old!r}, found it otherwise; plant it again")
    stack.enter_context(patch.dict(queries, {name: queries[name].replace(old, new)}))
