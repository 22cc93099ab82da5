"""Notifications between the processes of one file that the store was changed: hints, which may be lost.

Each store object that listens has a named pipe beside the file; a process that has committed what others may wait
for writes a byte into theirs. Where there are no pipes, or too many, changes are looked for as often as the caller
says.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress
from functools import reduce
from operator import or_

from stepward.model.messages.change_kinds import EVERYTHING, Kinds, received
from stepward.store.sqlite.engine.connection import is_memory
from stepward.store.sqlite.engine.database import Database
from stepward.store.sqlite.engine.wake_pipe_folder import MOST_PIPES, TooManyPipes, WakeFolder

LOG = logging.getLogger("stepward.store")

PAUSE_SECONDS = 0.001
"""Seconds between two rings of one process; those in between are sent as one."""
LOOK_SECONDS = 0.1
"""Seconds between looks of a store object that listens: a notification may be lost, or its pipe removed."""
RETRY_SECONDS = 5.0
"""Seconds until a store object tries again to make its pipe."""
MOST_BYTES = 4_096
"""Most notifications that are read at once; of more it is not known what they are about."""


class Notifier:
    """Notifies the other store objects of a file, and receives their notifications."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._folder = None if is_memory(path) else WakeFolder(path)
        self._others: dict[str, int] = {}
        """The pipes into which this object has written, by name; at most ``MOST_PIPES``."""
        self._name: str | None = None
        self._pipe: tuple[int, int] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stirred = asyncio.Event()
        self._received: Kinds = 0
        self._resting: asyncio.TimerHandle | None = None
        self._wanted: Kinds = 0
        """The kinds that are sent at the end of the pause."""
        self._retry_at = float("-inf")
        """When the pipe may be tried again, by the loop's clock."""
        self._has_complained = False

    def ring(self, kinds: Kinds = EVERYTHING) -> None:
        """Notify the others: at once, or at the end of the pause since the last time."""
        if self._folder is None:
            return
        if self._resting is not None:
            self._wanted |= kinds
        elif self._notified_any(self._folder, kinds):
            self._resting = asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._rested)

    def ring_all(self) -> None:
        """Notify the others and this process: another connection of this object has committed."""
        self._heard(EVERYTHING)
        self.ring()

    def received(self) -> Kinds:
        """The kinds of the notifications since the last call."""
        received, self._received = self._received, 0
        return received

    async def stirred(self, every: float) -> None:
        """Wait for a notification, or for a while: ``every`` seconds where none can be received."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(LOOK_SECONDS if self._listens() else every, self._stirred.set)
        try:
            await self._stirred.wait()
        finally:
            timer.cancel()
            self._stirred.clear()

    def close(self) -> None:
        """Send what waits to be sent, and receive nothing more."""
        if self._resting is not None:
            self._resting.cancel()
            self._rested()
        if self._resting is not None:
            self._resting.cancel()
        self._resting = None
        self._stop_listening()
        for pipe in self._others.values():
            os.close(pipe)
        self._others.clear()

    def _rested(self) -> None:
        self._resting = None
        wanted, self._wanted = self._wanted, 0
        if wanted:
            self.ring(wanted)

    def _notified_any(self, folder: WakeFolder, kinds: Kinds) -> bool:
        """Notify the others; whether there are any."""
        names = folder.names()
        for name in self._others.keys() - names:
            os.close(self._others.pop(name))
        is_any = False
        for name in names:
            if name != self._name and self._notify(folder, name, kinds):
                is_any = True
        return is_any

    def _notify(self, folder: WakeFolder, name: str, kinds: Kinds) -> bool:
        pipe = self._others.get(name)
        if pipe is None:
            pipe = folder.open_pipe(name) if len(self._others) < MOST_PIPES else None
            if pipe is None:
                return False
            self._others[name] = pipe
        try:
            os.write(pipe, bytes([kinds]))
        except BlockingIOError:  # it is full, so that its reader wakes anyway
            pass
        except OSError:
            os.close(self._others.pop(name))
            return False
        return True

    def _listens(self) -> bool:
        """Whether this object has a pipe that others find; makes one."""
        if self._folder is None:
            return False
        if self._name is not None and self._pipe is not None and self._folder.is_there(self._name, self._pipe[0]):
            return True
        self._stop_listening()
        self._loop = asyncio.get_running_loop()
        if self._loop.time() < self._retry_at:
            return False
        try:
            self._name, *pipe = self._folder.make_pipe()
            self._pipe = (pipe[0], pipe[1])
            self._loop.add_reader(self._pipe[0], self._receive, self._pipe[0])
        except OSError as error:
            self._retry_at = self._loop.time() + RETRY_SECONDS
            self._stop_listening()
            self._complain(error)
            return False
        return True

    def _complain(self, error: OSError) -> None:
        if isinstance(error, TooManyPipes) and not self._has_complained:
            self._has_complained = True
            LOG.warning(
                "store %s: expected at most %d processes that wait for changes, found more; this one polls it; run "
                "fewer processes, or use PostgreSQL",
                self._path,
                MOST_PIPES,
            )

    def _receive(self, pipe: int) -> None:
        sent = b""
        with suppress(OSError):
            sent = os.read(pipe, MOST_BYTES)
        # A pipe that was full has refused what came next.
        kinds = EVERYTHING if len(sent) == MOST_BYTES else reduce(or_, map(received, set(sent)), 0)
        self._heard(kinds or EVERYTHING)

    def _heard(self, kinds: Kinds) -> None:
        self._received |= kinds
        self._stirred.set()

    def _stop_listening(self) -> None:
        if self._pipe is None or self._name is None or self._folder is None:
            return
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._pipe[0])
        for end in self._pipe:
            os.close(end)
        self._folder.remove(self._name)
        self._pipe = self._name = None


class FileChanges:
    """Implements ``ChangeSource`` on a file: notifications of others, and the number of its last commit."""

    def __init__(self, database: Database, notifier: Notifier) -> None:
        self._database = database
        self._notifier = notifier
        self.stirred = notifier.stirred

    def changed(self) -> Kinds:
        """A commit of which no notification tells may be about everything."""
        is_changed, kinds = self._database.changed(), self._notifier.received()
        return kinds or (EVERYTHING if is_changed else 0)
