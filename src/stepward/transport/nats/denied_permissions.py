"""Permission errors of NATS servers, matched to the requests that they refuse."""

from __future__ import annotations

import asyncio
from collections import deque

from stepward.transport.nats.refusals import PERMISSIONS, SUBSCRIBES

MOST_DENIED = 100
"""Most permission errors remembered: NATS sends them apart from the request, which gets no answer."""


class DeniedPermissions:
    """The latest permission errors of one connection after another; instants are of the event loop."""

    def __init__(self) -> None:
        self._denied: deque[tuple[float, str]] = deque(maxlen=MOST_DENIED)
        self.inbox: str | None = None
        """Why the last connection receives no answer: its login may not subscribe to its inbox."""

    def note(self, error: Exception, inbox: str) -> bool:
        """Whether the error is about a permission, which is then remembered; ``inbox`` is the connection's."""
        if PERMISSIONS not in str(error):
            return False
        reason = str(error).lower().removeprefix("nats: ")
        self._denied.append((asyncio.get_running_loop().time(), reason))
        if f'{SUBSCRIBES}"{inbox}.'.lower() in reason:
            self.inbox = reason
        return True

    def find(self, since: float, *about: str) -> str | None:
        """The last error since ``since`` about a subject with all these parts; None if there is none."""
        for at, text in reversed(self._denied):
            if at >= since and about and all(part.lower() in text for part in about):
                return text
        return None
