"""Closing suspended workflow code quietly: at eviction, and for what an ended workflow left behind."""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any

from stepward.runtime.interrupts import pass_interrupt
from stepward.workflow.control_flow import Halted

Generated = AsyncGenerator[Any, Any]

TRIES = 100
"""How often code that awaits again while it is closed is closed again."""
PRUNE_FROM = 64
"""Asynchronous generators from which on those that have ended are dropped."""


@contextmanager
def silent_warnings() -> Iterator[None]:
    """No "coroutine was never awaited" for coroutines that only waited for their turn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def close_coroutine(coroutine: Coroutine[Any, Any, Any] | Generator[Any, Any, Any] | None, context: Context) -> None:
    """Close ``coroutine`` in ``context``, whatever its ``finally`` blocks try."""
    if coroutine is not None:
        # Not close(): an inner coroutine that awaits again would outlive the outer ones.
        _insist(lambda: context.run(coroutine.throw, Halted()))


def close_generator(generator: AsyncGenerator[Any, Any]) -> None:
    """Close an asynchronous generator without waiting for what it awaits."""
    closing = generator.aclose()
    if not _leaves(lambda: closing.send(None)):
        _insist(lambda: closing.throw(Halted()))


def kept_with(
    generator: AsyncGenerator[Any, Any], kept: list[AsyncGenerator[Any, Any]]
) -> list[AsyncGenerator[Any, Any]]:
    """The generators that are held, and one more: no garbage collector may close one at a moment of its own, which a
    replay would not meet again."""
    if len(kept) >= PRUNE_FROM:
        kept = [one for one in kept if one.ag_frame is not None]  # type: ignore[attr-defined]
    kept.append(generator)
    return kept


def leave_open(generator: AsyncGenerator[Any, Any]) -> None:
    """Leaves a dropped generator open: only the end of its execution closes it."""


def _insist(leave: Callable[[], object]) -> None:
    for _ in range(TRIES):
        if _leaves(leave):
            return


def _leaves(leave: Callable[[], object]) -> bool:
    try:
        leave()
    except BaseException as error:  # what closing code raises decides nothing any more
        pass_interrupt(error)
        return True
    return False
