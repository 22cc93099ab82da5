"""How a process is ended from outside: a user's Ctrl-C, told from an exception of that name, and an end at once."""

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
    """Raise ``error`` again if it is a user's Ctrl-C; anything else belongs to the code that raised it."""
    if isinstance(error, KeyboardInterrupt) and is_from_user(error):
        raise error


def is_from_user(error: KeyboardInterrupt) -> bool:
    """Whether this process's handler of SIGINT raised it; the interpreter calls that in the main thread alone.

    Python's default handler leaves no frame behind: there a ``raise`` statement shows that no signal was the cause.
    """
    if threading.current_thread() is not threading.main_thread():
        return False
    raised = _innermost(error.__traceback__)
    handler = signal.getsignal(signal.SIGINT)
    if raised is None or handler is not signal.default_int_handler:
        return raised is not None and raised.tb_frame.f_code is _code_of(handler)
    return raised.tb_frame.f_code.co_code[raised.tb_lasti] != RAISE


def end_at_once(code: int, why: str) -> NoReturn:
    """End the process with one line on stderr, whatever else hangs."""
    if sys.__stderr__ is not None:
        write_at_once(sys.__stderr__, f"stepward: {why}")
    os._exit(code)


def write_at_once(stream: TextIO, line: str) -> None:
    """Write a line from any thread or signal handler: no lock is taken, and no reader waited for."""
    with suppress(OSError, ValueError):
        descriptor = stream.fileno()
        if select.select([], [descriptor], [], 0)[1]:
            os.write(descriptor, f"{line}\n".encode())


def _innermost(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback


def _code_of(handler: object) -> CodeType | None:
    """The code of a handler that is a function, a method or a partial of one, as that of ``asyncio.run`` is."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    return getattr(handler, "__code__", None)
