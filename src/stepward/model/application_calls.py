"""Calls of the application's functions: no exception of theirs may end other work of the process."""

from __future__ import annotations

import asyncio

from stepward.error_messages import RaisedInstead
from stepward.model.current_step import FinishedLater
from stepward.runtime.interrupts import pass_interrupt

ORDINARY = (Exception, asyncio.CancelledError, GeneratorExit, FinishedLater)
"""Exceptions that leave a function unchanged: a failure, an end that may come from outside, or a suspension."""


class Contained:
    """Converts an exception that would end the process, such as that of ``sys.exit()``, to a failure of the
    function."""

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None and not isinstance(error, ORDINARY):
            pass_interrupt(error)
            raise as_failure(error) from error


contained = Contained()


def failure_of(error: BaseException) -> Exception:
    """``error`` as an ordinary exception; raised again if it comes from outside the called code.

    From outside come a user's Ctrl-C, the cancellation of the running asyncio task, and the closing of a coroutine.
    """
    pass_interrupt(error)
    if isinstance(error, asyncio.CancelledError | GeneratorExit) and not _is_own(error):
        raise error
    return as_failure(error)


def as_failure(error: BaseException) -> Exception:
    """An ordinary exception in place of ``error``, if that is none."""
    return error if isinstance(error, Exception) else RaisedInstead(error)


def _is_own(error: BaseException) -> bool:
    """Whether code of the running asyncio task raised it; a coroutine that is being closed runs in no task of its
    own."""
    loop = asyncio._get_running_loop()
    task = None if loop is None else asyncio.current_task(loop)
    return task is not None and not (isinstance(error, asyncio.CancelledError) and task.cancelling())
