"""Queues of the double: peek-lock with locks that end, sessions, a count of deliveries, dead letters by reason.

From "Message transfers, locks, and settlement", "Message sessions" and "Overview of Service Bus dead-letter queues" of
https://learn.microsoft.com/azure/service-bus-messaging/.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID, uuid4

DEAD_LETTERS = "/$DeadLetterQueue"


@dataclass(eq=False)
class StoredMessage:
    """A message of a queue."""

    number: int
    data: bytes
    session: str | None
    expires_at: float
    deliveries: int = 0
    token: UUID | None = None
    """Of its lock."""
    locked_until: float = 0.0
    reason: str = ""
    """The reason of a dead letter."""


@dataclass(eq=False)
class SessionLock:
    """A session that a link has."""

    holder: object
    until: float


@dataclass(eq=False)
class Entity:
    """A queue; ``changed`` is called when a message may have become available."""

    name: str
    requires_session: bool = False
    lock_seconds: float = 30.0
    most_deliveries: int = 10
    most_bytes: int = 256 * 1024
    messages: list[StoredMessage] = field(default_factory=list)
    dead: list[StoredMessage] = field(default_factory=list)
    locks: dict[str, SessionLock] = field(default_factory=dict)
    states: dict[str, bytes] = field(default_factory=dict)
    changed: Callable[[], None] = lambda: None
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def put(self, data: bytes, session: str | None, ttl: float | None) -> None:
        """Append a message; ``ttl`` in seconds."""
        expires_at = float("inf") if ttl is None else time.time() + ttl
        self.messages.append(StoredMessage(next(self._numbers), data, session, expires_at))
        self.changed()

    def take(self, session: str | None) -> StoredMessage | None:
        """Lock the first message that is available."""
        now = time.time()
        self.messages = [each for each in self.messages if each.expires_at > now or each.token is not None]
        for message in tuple(self.messages):
            if message.session != session or message.token is not None:
                continue
            if message.deliveries >= self.most_deliveries:
                self._bury(message, "MaxDeliveryCountExceeded")
                continue
            message.token = uuid4()
            message.locked_until = self.locks[session].until if session is not None else now + self.lock_seconds
            return message
        return None

    def complete(self, message: StoredMessage, token: UUID | None) -> bool:
        """Delete a message whose lock is still that one."""
        if message.token != token or token is None or message not in self.messages:
            return False
        self.messages.remove(message)
        return True

    def unlock(self, message: StoredMessage, token: UUID | None) -> None:
        """Make it available again, one delivery later."""
        if message.token == token and token is not None:
            message.token = None
            message.deliveries += 1
            self.changed()

    def reject(self, message: StoredMessage, token: UUID | None, reason: str) -> None:
        """Move a message to the dead letters."""
        if message.token == token and token is not None:
            self._bury(message, reason)

    def renew(self, token: UUID) -> float | None:
        """The new end of a lock; None for one that is lost."""
        found = next((each for each in self.messages if each.token == token), None)
        if found is None:
            return None
        found.locked_until = time.time() + self.lock_seconds
        return found.locked_until

    def lock_session(self, session: str, holder: object) -> float | None:
        """The end of the lock of a session; None while another link has it."""
        found = self.locks.get(session)
        if found is not None and found.holder != holder and found.until > time.time():
            return None
        until = time.time() + self.lock_seconds
        self.locks[session] = SessionLock(holder, until)
        return until

    def free_session(self, session: str, holder: object) -> None:
        """Unlock a session, whose messages are available again."""
        found = self.locks.get(session)
        if found is not None and found.holder == holder:
            del self.locks[session]
            for message in self.messages:
                if message.session == session and message.token is not None:
                    message.token = None
                    message.deliveries += 1
            self.changed()

    def lapse(self) -> None:
        """Unlock what was locked for too long."""
        now = time.time()
        for session, lock in tuple(self.locks.items()):
            if lock.until <= now:
                self.free_session(session, lock.holder)
        for message in tuple(self.messages):
            if message.token is not None and message.session is None and message.locked_until <= now:
                self.unlock(message, message.token)

    def _bury(self, message: StoredMessage, reason: str) -> None:
        self.messages.remove(message)
        message.token, message.reason = None, reason
        self.dead.append(message)
