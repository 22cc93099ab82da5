"""Exceptions as text: whatever their type, in a group or not, readable or not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from itertools import islice

LONGEST_NAME = 100
"""Most characters of a name that is compared with others: the time grows with its square."""
NAMED_OF_GROUP = 10
"""Most errors of a group that its message names."""


class RaisedInstead(RuntimeError):
    """Replaces ``raised``, an exception that would have ended more than the function that raised it."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__(f"function raised {named(raised)}")
        self.raised = raised


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The question whether the most similar of the known names is meant; None if none is similar."""
    near = difflib.get_close_matches(name[:LONGEST_NAME], list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else None


def message_of(error: BaseException) -> str:
    """The message of an exception, with those within a group; the name of its type if it has none, or is unreadable."""
    if isinstance(error, BaseExceptionGroup):
        named = list(islice(leaves_of(error), NAMED_OF_GROUP + 1))
        parts = [f"{type(leaf).__name__}: {_message(leaf)}" for leaf in named[:NAMED_OF_GROUP]]
        return f"{error.message}: {'; '.join(parts)}{'; …' if len(named) > NAMED_OF_GROUP else ''}"
    return _message(error)


def leaves_of(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group and in its groups, in order; any other error alone."""
    waiting = [error]
    while waiting:
        first = waiting.pop()
        if isinstance(first, BaseExceptionGroup):
            waiting.extend(reversed(first.exceptions))
        else:
            yield first


def _message(error: BaseException) -> str:
    try:
        return str(error) or type(error).__name__
    except BaseException:  # a broken __str__ must not hide what happened
        return type(error).__name__


def named(error: BaseException) -> str:
    """An exception's type and message; for a replacement, those of the original."""
    error = error.raised if isinstance(error, RaisedInstead) else error
    name, message = type(error).__name__, message_of(error)
    return name if message == name else f"{name}: {message}"
