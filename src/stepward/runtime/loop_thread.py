"""An event loop in a thread of its own, for blocking code; what is opened on the loop is closed there too."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple, TypeVar

from stepward.errors import Refused

T = TypeVar("T")

Opened = AbstractAsyncContextManager[Any]


class _Running(NamedTuple):
    loop: asyncio.AbstractEventLoop
    thread: threading.Thread
    pid: int


class LoopThread:
    """A thread that runs coroutines while what ``open`` received is open.

    An instance that is garbage-collected while open closes itself. ``name`` and ``use``, the way to enter it, appear in
    messages.
    """

    def __init__(self, name: str, use: str) -> None:
        self._name = name
        self._use = use
        self._missing = "not entered yet; enter it first"
        self._running: _Running | None = None
        self._opened: Opened | None = None
        self._dropped: weakref.finalize[..., LoopThread] | None = None

    def open(self, make: Callable[[], AbstractAsyncContextManager[T]]) -> T:
        """Start the thread and enter the context there; a failure leaves nothing behind."""
        if self._running is not None:
            raise Refused(f"{self._name}: expected to be opened once at a time, found it open; close it first")
        self._running = _started(self._name)
        try:
            opened = make()
            result = self.call(opened.__aenter__())
        except BaseException:
            self._stop()
            raise
        self._opened = opened
        self._dropped = weakref.finalize(self, _close_by_itself, self._running.loop, self._running.pid, opened)
        self._dropped.atexit = False
        return result

    def close(self) -> None:
        """Leave the context and end the thread; a forked child has neither."""
        opened, self._opened = self._opened, None
        if self._dropped is not None:
            self._dropped.detach()
        if self._running is None or self._is_elsewhere(self._running):
            self._running = None
            self._missing = "closed; open another"
            return
        try:
            if opened is not None:
                self.call(opened.__aexit__(None, None, None))
        finally:
            self._stop()

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and wait for it; an exception in the waiting thread cancels it.

        Raises ``concurrent.futures.CancelledError`` if another thread closes this meanwhile.
        """
        try:
            loop = self._checked().loop
        except Refused:
            coroutine.close()
            raise
        running = asyncio.run_coroutine_threadsafe(coroutine, loop)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    def check(self) -> None:
        """Raises Refused unless it is open, and in this process."""
        self._checked()

    def _checked(self) -> _Running:
        if self._running is None:
            raise Refused(f"{self._name}: expected use within `{self._use}`, found it {self._missing}")
        if self._is_elsewhere(self._running):
            raise Refused(
                f"{self._name}: expected use in process {self._running.pid}, which opened it, found its forked child "
                f"{os.getpid()}, where its thread does not run; open another one there"
            )
        return self._running

    def _is_elsewhere(self, running: _Running) -> bool:
        return running.pid != os.getpid()

    def _stop(self) -> None:
        running, self._running = self._running, None
        self._missing = "closed; open another"
        if running is not None:
            asyncio.run_coroutine_threadsafe(_cancel_others(), running.loop).result()
            running.loop.call_soon_threadsafe(running.loop.stop)
            running.thread.join()


def _started(name: str) -> _Running:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=_run, args=(loop,), name=name, daemon=True)
    thread.start()
    return _Running(loop, thread, os.getpid())


def _run(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


def _close_by_itself(loop: asyncio.AbstractEventLoop, pid: int, opened: Opened) -> None:
    """Close a garbage-collected instance on its loop, without waiting: this may run in any thread, including the
    loop's."""
    if pid == os.getpid() and not loop.is_closed():
        closing = asyncio.run_coroutine_threadsafe(_closed(opened), loop)
        closing.add_done_callback(lambda _: loop.call_soon_threadsafe(loop.stop))


async def _closed(opened: Opened) -> None:
    try:
        await opened.__aexit__(None, None, None)
    finally:
        await _cancel_others()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
