"""The child's end of the line to the group that began it: where it is cut, the child drains."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable

READY = "ready"
FAILED = "failed "
LONGEST = 4_000
"""Characters of a complaint; more says no more."""
OVERDUE = 1


class ParentLink:
    """Tells the group that this process is at work, or why it cannot be, and hears from it one thing: the end.

    The line ends with the group's process, however that dies, so that no child outlives it for long.
    """

    def __init__(self, number: int, descriptor: int) -> None:
        self.number = number
        self._socket = socket.socket(fileno=descriptor)
        self._socket.set_inheritable(False)

    def ready(self) -> None:
        """This process is at work."""
        self._tell(READY)

    def failed(self, why: str) -> None:
        """This process ends, and says why."""
        self._tell(f"{FAILED}{' '.join(why.split()):.{LONGEST}}")

    def hold(self, cut: Callable[[], None], seconds: float) -> None:
        """Call ``cut`` in a thread when the line is cut, and end the process if it still runs that many seconds later.

        A thread, because an event loop that stands still would hear nothing.
        """
        threading.Thread(target=self._wait, args=(cut, seconds), name="stepward-tether", daemon=True).start()

    def _wait(self, cut: Callable[[], None], seconds: float) -> None:
        while self._socket.recv(1):
            pass
        cut()
        threading.Event().wait(seconds)
        sys.stderr.write(f"stepward: process {self.number}: expected an end within {seconds:g} s, found none: ended\n")
        sys.stderr.flush()
        os._exit(OVERDUE)

    def _tell(self, line: str) -> None:
        try:
            self._socket.sendall(f"{line}\n".encode())
        except OSError:
            # The group is gone, and ``hold`` finds out.
            return
