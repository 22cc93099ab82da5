"""The child's end of the connection to its process group: when it is closed, the child drains."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable

READY = "ready"
DRAINED = "drained"
FAILED = "failed "
LONGEST = 4_000
"""Most characters of a message; the rest adds nothing."""
OVERDUE = 1


class ParentLink:
    """Reports to the group that this process is at work, or why it cannot be; a closed connection ends the process.

    The connection ends with the group's process, however that dies, so that no child outlives it for long.
    """

    def __init__(self, number: int, descriptor: int) -> None:
        self.number = number
        self._socket = socket.socket(fileno=descriptor)
        self._socket.set_inheritable(False)

    def ready(self) -> None:
        """Report that this process is at work."""
        self._send(READY)

    def drained(self) -> None:
        """Report that an operator ends this process: no other is to begin in its place."""
        self._send(DRAINED)

    def failed(self, why: str) -> None:
        """Report why this process ends."""
        self._send(f"{FAILED}{' '.join(why.split()):.{LONGEST}}")

    def hold(self, cut: Callable[[], None], seconds: float) -> None:
        """Call ``cut`` in a thread when the connection is closed, and end the process if it still runs ``seconds``
        later.

        A thread is used because a blocked event loop would not notice.
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

    def _send(self, line: str) -> None:
        try:
            self._socket.sendall(f"{line}\n".encode())
        except OSError:
            # The group is gone, which ``hold`` notices.
            return
