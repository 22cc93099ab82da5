"""Interrupts of a process: a user's Ctrl-C, distinguished from a KeyboardInterrupt that code raises, and an
immediate end."""

from __future__ import annotations

import functools
import opcode
import os
import select
import signal
import sys
import threading
from contextlib import suppress
from types import CodeType, TracebackType
from typing import NoReturn, TextIO

RAISE = opcode.opmap["RAISE_VARARGS"]


def pass_interrupt(error: BaseException) -> None:
    """Raise ``error`` again if it is a user's Ctrl-C; code that raises KeyboardInterrupt itself is treated like any
    other."""
    if isinstance(error, KeyboardInterrupt) and is_from_user(error):
        raise error


def is_from_user(error: KeyboardInterrupt) -> bool:
    """Whether this process's SIGINT handler raised it; the interpreter runs that in the main thread only.

    Python's default handler leaves no frame: there a ``raise`` statement shows that no signal was the cause.
    """
    if threading.current_thread() is not threading.main_thread():
        return False
    raised = _innermost(error.__traceback__)
    handler = signal.getsignal(signal.SIGINT)
    if raised is None or handler is not signal.default_int_handler:
        return raised is not None and raised.tb_frame.f_code is _code_of(handler)
    return raised.tb_frame.f_code.co_code[raised.tb_lasti] != RAISE


def end_at_once(code: int, why: str) -> NoReturn:
    """End the process with one line on stderr, even if other threads hang."""
    if sys.__stderr__ is not None:
        write_at_once(sys.__stderr__, f"stepward: {why}")
    os._exit(code)


def write_at_once(stream: TextIO, line: str) -> None:
    """Write a line from any thread or signal handler, without taking a lock and without waiting for a reader."""
    with suppress(OSError, ValueError):
        descriptor = stream.fileno()
        if select.select([], [descriptor], [], 0)[1]:
            os.write(descriptor, f"{line}\n".encode())


def _innermost(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback


def _code_of(handler: object) -> CodeType | None:
    """The code object of a handler that is a function, a method or a partial, such as that of ``asyncio.run``."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    return getattr(handler, "__code__", None)
