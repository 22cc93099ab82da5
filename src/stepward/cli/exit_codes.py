"""Exit codes of commands: 0 done, 1 the request failed, 2 wrong usage or settings, 3 store or broker unavailable."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import click

from stepward.error_messages import message_of
from stepward.errors import (
    AgentNotFound,
    CommitUnknown,
    CompletionRefused,
    IllegalTransition,
    InboxFull,
    InstanceNotFound,
    Refused,
    ScheduleNotFound,
    SinkNotFound,
    StepwardError,
    StoreUnavailable,
    StoreUnusable,
    TaskConflict,
    TaskNotFound,
    TransportError,
    UpdateRejected,
)
from stepward.views.printable import clean

DONE, FAILED, WRONG, UNREACHABLE = 0, 1, 2, 3
INTERRUPTED = 130
DEBUG = "STEPWARD_DEBUG"

CODES: tuple[tuple[type[StepwardError], int], ...] = (
    (TaskNotFound, FAILED),
    (ScheduleNotFound, FAILED),
    (SinkNotFound, FAILED),
    (AgentNotFound, FAILED),
    (InstanceNotFound, FAILED),
    (TaskConflict, FAILED),
    (IllegalTransition, FAILED),
    (InboxFull, FAILED),
    (CompletionRefused, FAILED),
    (UpdateRejected, FAILED),
    (Refused, WRONG),
    (StoreUnusable, WRONG),
    (StoreUnavailable, UNREACHABLE),
    (CommitUnknown, UNREACHABLE),
    (TransportError, UNREACHABLE),
    (StepwardError, FAILED),
)
"""The first class that matches an error decides; an act that a task's state forbids is a failure, not wrong usage."""


class Silent(StepwardError):
    """Ends the command with ``code``, after it has printed what failed."""

    def __init__(self, code: int) -> None:
        super().__init__("")
        self.code = code


def exit_code(call: Callable[[], Any]) -> int:
    """Run a command and return its exit code; every exception becomes one line on stderr."""
    try:
        code = call()
        sys.stdout.flush()
    except click.Abort:
        return INTERRUPTED
    except BrokenPipeError:  # Newer releases of click exit by themselves, with the same code.
        _write_no_more()
        return FAILED
    except Exception as error:
        if os.environ.get(DEBUG):
            traceback.print_exception(error)
        return _exit_code_of(error)
    return code if isinstance(code, int) else DONE


def _exit_code_of(error: Exception) -> int:
    """Print the error in one line, and return its exit code."""
    if isinstance(error, Silent):
        return error.code
    if isinstance(error, click.ClickException):
        complain(_usage(error))
        return WRONG
    if isinstance(error, StepwardError):
        complain(str(error))
        return code_of(error)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        _write_no_more()
        complain(f"expected room for the output, found {error.strerror}; make room")
        return FAILED
    complain(f"this is a bug: {type(error).__name__}: {message_of(error)}; run with {DEBUG}=1 for the traceback")
    return FAILED


def code_of(error: StepwardError) -> int:
    """The exit code that stands for an error."""
    return next(code for kind, code in CODES if isinstance(error, kind))


def complain(message: str) -> None:
    """Write one line to stderr."""
    sys.stderr.write(f"stepward: {clean(' '.join(message.split()))}\n")


def _write_no_more() -> None:
    """The reader of stdout is gone: discard the rest of its buffer."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: click.ClickException) -> str:
    message = " ".join(error.format_message().split()).rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{message}; see {context.command_path} --help" if context is not None else message
